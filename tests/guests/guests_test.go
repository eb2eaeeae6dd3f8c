// Package guests_test builds programs of strangers from releases of this tree.
package guests_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	root = "../.."
	ours = "github.com/redlatch/redlatch"
)

// users is what a stranger's program requires already, at versions of some time ago. OpenTelemetry and gocron
// themselves require these versions of uuid and goleak.
var users = map[string]string{
	"github.com/redis/go-redis/v9":        "v9.7.3",
	"github.com/prometheus/client_golang": "v1.20.0",
	"go.opentelemetry.io/otel":            "v1.30.0",
	"github.com/google/uuid":              "v1.6.0",
	"github.com/spf13/pflag":              "v1.0.5",
	"pgregory.net/rapid":                  "v1.1.0",
	"go.uber.org/goleak":                  "v1.3.0",
}

// imports are the packages that the stranger imports of each of these. They are never called.
var imports = []string{
	"github.com/redis/go-redis/v9", "github.com/prometheus/client_golang/prometheus", "go.opentelemetry.io/otel",
	"github.com/google/uuid", "github.com/spf13/pflag", "pgregory.net/rapid", "go.uber.org/goleak",
}

// stranger is a module of somebody else.
type stranger struct {
	*testing.T
	dir string
}

// All strangers have one proxy, with the releases of this tree, and one module cache. What one of them has
// built the others need not build.
var (
	proxy, mods string
	building    sync.Mutex
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "guests")
	if err != nil {
		log.Fatal(err)
	}
	proxy, mods = filepath.Join(dir, "proxy"), filepath.Join(dir, "mods")
	code := m.Run()
	// The files of a module cache are read-only.
	clean := exec.Command("go", "clean", "-modcache")
	clean.Env = append(os.Environ(), "GOFLAGS=", "GOMODCACHE="+mods)
	if out, err := clean.CombinedOutput(); err != nil {
		log.Fatalf("%v\n%s", err, out)
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// Goal: whoever imports a package of ours gets what that package links, and no version of another library rises.
// Method: pack the modules as releases, and let a stranger's program with older versions of everything require them.
func TestGuestsMoveNobodysVersions(t *testing.T) {
	pack(t)
	for name, c := range map[string]struct {
		path   string
		linked []string // of other people, beside the user's own
	}{
		"root":    {ours, []string{"github.com/redis/rueidis", "golang.org/x/sys"}},
		"goredis": {ours + "/driver/goredis", []string{"github.com/redis/rueidis", "golang.org/x/sys"}},
		"prom":    {ours + "/redlatchprom", []string{"github.com/redis/rueidis", "golang.org/x/sys"}},
		"otel":    {ours + "/redlatchotel", []string{"github.com/redis/rueidis", "golang.org/x/sys"}},
		"gocron":  {ours + "/schedule/gocron", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStranger(t)
			s.program(imports)
			s.command("go", "mod", "tidy")
			before := s.versions()
			s.command("go", "get", c.path+"@latest")
			s.program(append([]string{c.path}, imports...))
			s.command("go", "mod", "tidy")
			after := s.versions()
			for path, version := range users {
				if after[path] != version {
					t.Errorf("%s rose from %s to %s", path, before[path], after[path])
				}
			}
			if strings.Contains(fmt.Sprint(after), "replace") || after[ours] != s.release() {
				t.Errorf("the release is %q: %v", after[ours], after)
			}
			s.want(c.linked, before)
			s.figures(c.path)
		})
	}
}

// Goal: the command can be installed by its path alone.
func TestGuestsInstallTheCommand(t *testing.T) {
	pack(t)
	s := newStranger(t)
	s.command("go", "install", ours+"/cmd/redlatch@latest")
	out, err := exec.CommandContext(t.Context(), filepath.Join(s.dir, "bin", "redlatch"), "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), s.release()) {
		t.Errorf("redlatch version: %v\n%s", err, out)
	}
}

// pack puts one release of each module into the proxy.
func pack(t *testing.T) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), root+"/scripts/modules", "released").Output()
	if err != nil {
		t.Fatal(err)
	}
	folders := strings.Fields(string(out))
	if len(folders) != 6 {
		t.Fatalf("%d modules are released: %v", len(folders), folders)
	}
	version := releaseOf(t)
	for _, folder := range folders {
		text := read(t, filepath.Join(root, folder, "go.mod"))
		path := regexp.MustCompile(`(?m)^module (.*)$`).FindStringSubmatch(text)[1]
		at := filepath.Join(proxy, path, "@v")
		var packed bytes.Buffer
		if err := zip.CreateFromDir(&packed, module.Version{Path: path, Version: version}, filepath.Join(root, folder)); err != nil {
			t.Fatal(err)
		}
		info, _ := json.Marshal(map[string]any{"Version": version, "Time": time.Now()})
		for name, content := range map[string][]byte{
			"list": []byte(version + "\n"), version + ".info": info, version + ".mod": []byte(text), version + ".zip": packed.Bytes(),
		} {
			write(t, filepath.Join(at, name), content)
		}
	}
}

// releaseOf is the version that the modules of the tree require of one another.
func releaseOf(t *testing.T) string {
	return regexp.MustCompile(ours + ` (v\S+)`).FindStringSubmatch(read(t, root+"/driver/goredis/go.mod"))[1]
}

func newStranger(t *testing.T) *stranger {
	s := &stranger{T: t, dir: t.TempDir()}
	text := "module example.org/shop\n\ngo 1.26.0\n"
	for _, path := range slices.Sorted(maps.Keys(users)) {
		text += "require " + path + " " + users[path] + "\n"
	}
	write(t, filepath.Join(s.dir, "go.mod"), []byte(text))
	return s
}

func (s *stranger) release() string { return releaseOf(s.T) }

// program writes a program that links these packages.
func (s *stranger) program(paths []string) {
	text := "package main\n\nimport (\n"
	for _, path := range paths {
		text += fmt.Sprintf("\t_ %q\n", path)
	}
	write(s.T, filepath.Join(s.dir, "main.go"), []byte(text+")\n\nfunc main() {}\n"))
}

// command runs one of go in the stranger's folder. Releases of ours come from the proxy, all others from where
// this machine gets them.
func (s *stranger) command(words ...string) string {
	s.Helper()
	cache := strings.TrimSpace(goEnv(s.T, "GOMODCACHE"))
	c := exec.Command(words[0], words[1:]...)
	c.Dir = s.dir
	c.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -trimpath", "GONOSUMDB="+ours, "GONOSUMCHECK=1", "GOBIN="+filepath.Join(s.dir, "bin"),
		"GOMODCACHE="+mods, "GOPROXY=file://"+proxy+",file://"+cache+"/cache/download,"+strings.TrimSpace(goEnv(s.T, "GOPROXY")))
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		s.Fatalf("%v: %v\n%s%s", words, err, out, &errs)
	}
	return string(out)
}

// versions are those of the stranger's module graph.
func (s *stranger) versions() map[string]string {
	all := make(map[string]string)
	for line := range strings.Lines(s.command("go", "list", "-m", "all")) {
		path, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		all[path] = version
	}
	return all
}

// want fails for each module that the program links now, and neither it nor the list had.
func (s *stranger) want(linked []string, before map[string]string) {
	if linked == nil {
		return // gocron brings its own
	}
	for module := range strings.Lines(s.command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")) {
		module = strings.TrimSpace(module)
		if _, had := before[module]; !had && module != "" && !strings.HasPrefix(module, ours) && !slices.Contains(linked, module) && module != "example.org/shop" {
			s.Errorf("it links %s", module)
		}
	}
}

// figures prints what the import costs a program that has nothing else.
func (s *stranger) figures(path string) {
	alone := newStranger(s.T)
	write(s.T, filepath.Join(alone.dir, "go.mod"), []byte("module example.org/shop\n\ngo 1.26.0\n"))
	alone.command("go", "get", path+"@latest")
	alone.program([]string{path})
	alone.command("go", "mod", "tidy")
	building.Lock()
	defer building.Unlock()
	alone.command("go", "build", "-ldflags=-s -w", "-o", "shop", ".")
	binary, err := os.Stat(filepath.Join(alone.dir, "shop"))
	if err != nil {
		s.Fatal(err)
	}
	listed := strings.Count(read(s.T, filepath.Join(alone.dir, "go.mod")), " v")
	s.Logf("%s: %d modules in go.mod, %d in the graph, %d lines in go.sum, a binary of %.1f MB",
		path, listed, len(alone.versions())-1, strings.Count(read(s.T, filepath.Join(alone.dir, "go.sum")), "\n"), float64(binary.Size())/1e6)
}

func goEnv(t *testing.T, name string) string {
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path string, content []byte) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
