package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// load reads the files of all rooms, and where their imports are compiled.
func load(ctx context.Context, tree string) (loaded []*room, err error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,Name,GoFiles"}
	if build, ok := debug.ReadBuildInfo(); ok && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = append(args, "-race") // the tests beside this one have compiled all for the race detector
	}
	for _, r := range rooms {
		args = append(args, "./"+r.folder)
	}
	list := exec.CommandContext(ctx, "go", args...)
	list.Dir, list.Stderr = tree, os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports, names, goFiles := make(map[string]string), make(map[string]string), make(map[string][]string)
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p struct {
			ImportPath, Export, Dir, Name string
			GoFiles                       []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath], names[p.Dir], goFiles[p.Dir] = p.Export, p.Name, p.GoFiles
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, r := range rooms {
		home := filepath.Join(tree, r.folder)
		one := &room{folder: r.folder, name: names[home], tests: strings.Fields(r.tests), imports: imports, texts: make(map[string]string)}
		files := goFiles[home]
		if r.folder == scriptFolder {
			scripts, _ := filepath.Glob(filepath.Join(home, "*.lua"))
			parts, _ := filepath.Glob(filepath.Join(home, "*.inc"))
			files = slices.Concat(files, scripts, parts)
		}
		for _, file := range files {
			name := filepath.Join(r.folder, filepath.Base(file))
			text, err := os.ReadFile(filepath.Join(tree, name))
			if err != nil {
				return nil, err
			}
			one.texts[name] = string(text)
		}
		loaded = append(loaded, one)
	}
	return loaded, nil
}
