package clients_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Goal: a lock through a Unix socket, with a password, messages and a database of its own.
func TestALockThroughAUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "socket") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "redis.sock")
	server := redistest.Start(t, "--unixsocket", path)
	server.CLI(t, "ACL", "SETUSER", "locker", "on", ">p@ss", "~*", "&*", "+@all")
	url := "unix://locker:p%40ss@" + path

	c := fixture.Open(t, url, redlatch.Config{})
	_ = check.Must(c.Mutex("job").Lock(t.Context()))
	if server.CLI(t, "EXISTS", "job") != int64(1) {
		t.Error("the lock is elsewhere")
	}
	check.Must(c.Mutex("job").ForceUnlock(t.Context()))
	roundTrip(t, url, redlatch.Config{})

	elsewhere := fixture.Open(t, url+"?db=3", redlatch.Config{})
	check.Must(elsewhere.Mutex("other").Lock(t.Context()))
	if keys := server.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("database 0 has %q", keys)
	}
}

// Goal: the errors of a Unix socket name its path, and no password.
func TestErrorsOfAUnixSocketNameThePath(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.sock")
	_, err := redlatch.Open(t.Context(), "unix://me:secret@"+missing, redlatch.Config{CommandTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), missing) || !errors.Is(err, os.ErrNotExist) || strings.Contains(err.Error(), "secret") {
		t.Errorf("without a socket the error is %v", err)
	}
	_, err = redlatch.Open(t.Context(), "unix://"+missing, redlatch.Config{AddressMap: func(address string) string { return address }})
	if wrong, ok := errors.AsType[*redlatch.ConfigError](err); !ok || wrong.Field != "AddressMap" {
		t.Errorf("with AddressMap the error is %v", err)
	}
}
