package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// rivalBlock is a block of Go that names the library which it is of.
var rivalBlock = regexp.MustCompile("(?ms)^```go (\\w+)\n(.*?)^```")

// Goal: what the pages for those who come from another library show of it compiles. Method: each such
// block becomes a function of a program in a module that needs what this one needs.
func TestTheCodeOfOthersInTheDocumentationCompiles(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/from-*.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs("..")
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), strings.ReplaceAll(string(text), "=> ../", "=> "+root))
	}
	var code strings.Builder
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range rivalBlock.FindAllStringSubmatchIndex(string(text), -1) {
			blocks++
			line := 1 + strings.Count(string(text[:at[4]]), "\n")
			fmt.Fprintf(&code, "func from%d(ctx context.Context, client redis.UniversalClient, order int) error {\n//line %s:%d\n%s}\n\n", blocks, filepath.Base(page), line, text[at[4]:at[5]])
		}
	}
	if blocks != 3 {
		t.Fatalf("%d blocks", blocks)
	}
	writeFile(t, filepath.Join(dir, "from.go"), rivalImports+code.String())
	vet := exec.CommandContext(t.Context(), "go", "vet", "-mod=mod", ".")
	vet.Dir = dir
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

const rivalImports = `package from

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

var _ = errors.Join

func ship(context.Context, int) error { return nil }

`

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
