package connect_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Goal: a program that forgot the import is told which one. Method: this package's tests do not
// import driver/memory either.
func TestMemoryNeedsAnImport(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"memory://", "memory://name", "MEMORY://name"} {
		_, err := connect.Parse(url)
		want := `memory:// needs the embedded server: import _ "github.com/redlatch/redlatch/driver/memory"`
		if wrong, ok := errors.AsType[*lockerr.ConfigError](err); !ok || wrong.Field != "url" || wrong.Reason != want {
			t.Errorf("Parse(%q) is %v, want a ConfigError for the url: %s", url, err, want)
		}
	}
}

func TestARegisteredSchemeIsOpened(t *testing.T) {
	t.Parallel()
	target, err := connect.Parse("inside://name")
	if err != nil {
		t.Fatal(err)
	}
	d, err := target.Open(t.Context(), connect.Settings{CommandTimeout: time.Minute})
	if want := (inside{name: "name", commandTimeout: time.Minute}); err != nil || d != want {
		t.Errorf("Open is %v, %v, want %v", d, err, want)
	}
}

func TestAnEmbeddedServerThatFailsToOpen(t *testing.T) {
	t.Parallel()
	target, err := connect.Parse("inside://broken")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Open(t.Context(), connect.Settings{}); !errors.Is(err, errBroken) {
		t.Errorf("Open is %v, want the server's error", err)
	}
	target, _ = connect.Parse("inside://nothing")
	if _, err := target.Open(t.Context(), connect.Settings{}); !errors.As(err, new(*lockerr.ConfigError)) {
		t.Errorf("Open is %v, want a ConfigError for a server that is nil", err)
	}
}
