package clients_test

import (
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// serve runs an embedded server that answers INFO as it is told.
func serve(t *testing.T, answer func(c *server.Peer)) (url string) {
	t.Helper()
	s := check.Must(memory.Serve("127.0.0.1:0"))
	t.Cleanup(s.Close)
	s.Miniredis().Server().SetPreHook(func(c *server.Peer, command string, _ ...string) bool {
		if command != "INFO" {
			return false
		}
		answer(c)
		return true
	})
	return "redis://" + s.Addr()
}

func TestOpenRefusesAServerWhoseScriptsAreNotAtomic(t *testing.T) {
	t.Parallel()
	url := serve(t, func(c *server.Peer) { c.WriteBulk("# Server\r\ngarnet_version:1.0.84\r\nredis_version:7.4.3\r\n") })
	_, err := redlatch.Open(t.Context(), url, redlatch.Config{})
	check.Is(t, "Open", err, redlatch.ErrUnsupported)
	if err != nil && !strings.Contains(err.Error(), "not atomic") {
		t.Error(err)
	}
}

func TestOpenTakesAServerThatDoesNotTellWhatItIs(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, serve(t, func(c *server.Peer) { c.WriteError("NOPERM this user has no permissions to run the 'info' command") }), redlatch.Config{})
	if err := check.Must(c.Mutex("job").Lock(t.Context())).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}
