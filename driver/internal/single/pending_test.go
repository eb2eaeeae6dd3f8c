package single_test

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a server whose disk is full costs a listener its connection at most, and not the
// process. Method: it refuses every PING with MISCONF, and so the one that rueidis sends
// behind an UNSUBSCRIBE, and those that keep the connection alive.
func TestAServerThatCannotSaveDoesNotEndTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := redistest.Start(t, "--dir", dir, "--save", "3600 1")
	d := open(t, single.Options{Address: server.Addr(), CommandTimeout: 3 * time.Second})
	l, err := d.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Subscribe(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "dump.rdb", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	server.CLI(t, "BGSAVE")
	redistest.Eventually(t, soon, func() bool {
		_, refused := server.CLI(t, "PING").(redistest.ServerError)
		return refused
	}, "PING is refused")
	l.Unsubscribe(t.Context(), "a")
	drivercheck.Within(t, l.Done(), "the listener ends")
}

const (
	confirmed = ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n"
	ended     = ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:0\r\n"
)

// Goal: a malformed answer on a subscription connection costs that, and not the process.
// Method: a server that answers a request to subscribe, or to end that, with something over
// which rueidis 1.0.79 panics, or may.
func TestMalformedSubscriptionRepliesEndOnlyTheConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ verb, answer string }{
		{"SUBSCRIBE", confirmed + confirmed + confirmed},
		{"SUBSCRIBE", confirmed + ended + confirmed + confirmed},
		{"SUBSCRIBE", confirmed + confirmed + "+OK\r\n+OK\r\n+OK\r\n"},
		{"SUBSCRIBE", confirmed + "+OK\r\n" + confirmed},
		{"SUBSCRIBE", "+QUEUED\r\n"},
		{"SUBSCRIBE", "-ERR no\r\n" + confirmed},
		{"SUBSCRIBE", "-ERR no\r\n-ERR no\r\n-ERR no\r\n-ERR no\r\n"},
		{"SUBSCRIBE", "*3\r\n+subscribe\r\n+a\r\n:1\r\n*3\r\n+subscribe\r\n+a\r\n:1\r\n"},
		{"SUBSCRIBE", ">3\r\n_\r\n+subscribe\r\n:1\r\n" + confirmed + confirmed + ">2\r\n+ssubscribe\r\n+a\r\n"},
		{"UNSUBSCRIBE", ended + confirmed + "+PONG\r\n"},
		{"UNSUBSCRIBE", ended + "+PONG\r\n+PONG\r\n"},
		{"UNSUBSCRIBE", ended + "$4\r\nPONG\r\n+PONG\r\n+PONG\r\n"},
		{"UNSUBSCRIBE", "-MOVED 1 a:1\r\n-MISCONF no\r\n"},
		{"UNSUBSCRIBE", "-MOVED 1 a:1\r\n+PONG\r\n" + confirmed},
	} {
		for _, pieces := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d, n := openInBubble(t, 3*time.Second)
				n.server.Server().SetPreHook(func(c2 *server.Peer, verb string, _ ...string) bool {
					if verb == c.verb {
						c2.Block(func(w *server.Writer) {
							for i := range c.answer {
								if w.WriteRaw(c.answer[i : i+1]); pieces {
									w.Flush()
								}
							}
						})
					}
					return verb == c.verb || c.verb == "UNSUBSCRIBE" && verb == "PING"
				})
				l, err := d.Listen(t.Context(), driver.Events{})
				if err != nil {
					t.Fatal(err)
				}
				l.Subscribe(t.Context(), "a", "b")
				l.Unsubscribe(t.Context(), "a")
				select {
				case <-l.Done():
				case <-time.After(time.Minute):
					t.Errorf("%q after %s did not end the connection", c.answer, c.verb)
				}
			})
		}
	}
}
