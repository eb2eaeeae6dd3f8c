package single_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// malformed are replies that would end the process inside rueidis 1.0.79, or take all memory.
var malformed = []string{
	"*-5\r\n", "*2147483647\r\n", "*9223372036854775807\r\n", "*99999999999999999999\r\n",
	"$-7\r\n", "$99999999999\r\n", "%-1\r\n", "~-3\r\n", ">-1\r\n", "!-2\r\n", "=-2\r\n", "*-\r\n",
	"*4000000\r\n*4000000\r\n*4000000\r\n*4000000\r\n",
	strings.Repeat("*1\r\n", 100),
	"+OK\r\n+OK\r\n+OK\r\n", ">3\r\n+subscribe\r\n+x\r\n:1\r\n+OK\r\n",
	"|1\r\n+a\r\n+b\r\n", "*?\r\n", "$?\r\n", "+\n", "_\nX*99999999999\r\n", "#\n\n$-9\r\n", "*3\n", "\r\n", "HTTP/1.1 200 OK\r\n",
}

// Goal: a malformed reply costs the connection, and not the process. Method: a server
// that sends one on request, in one piece or byte by byte.
func TestMalformedRepliesEndOnlyTheConnection(t *testing.T) {
	t.Parallel()
	for _, text := range malformed {
		for _, pieces := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				d, n := openInBubble(t, 3*time.Second)
				n.server.Server().Register("MALFORMED", func(c *server.Peer, _ string, _ []string) {
					c.Block(func(w *server.Writer) {
						for i := range text {
							if w.WriteRaw(text[i : i+1]); pieces {
								w.Flush()
							}
						}
					})
				})
				for _, shared := range []bool{false, true} {
					if shared {
						shareConnection(t, d)
					}
					reply := d.Do(context.Background(), command("MALFORMED"))
					if reply.Err == nil && !strings.HasPrefix(text, "+OK") {
						t.Errorf("%q: %+v", text, reply)
					}
					synctest.Wait()
					for range 3 { // some may still be on that connection: there are two replies too many
						d.Do(t.Context(), command("PING"))
						synctest.Wait()
					}
					do(t, d, "PING")
				}
			})
		}
	}
}

// Goal: what servers send passes, in pieces of any size.
func TestWellFormedRepliesPass(t *testing.T) {
	t.Parallel()
	replies := "+OK\r\n-ERR no\r\n:-5\r\n$-1\r\n*-1\r\n$0\r\n\r\n$5\r\nab\n\r\n\r\n*0\r\n" +
		"*3\r\n:1\r\n*2\r\n$1\r\nx\r\n*-1\r\n+y\r\n%1\r\n+k\r\n~2\r\n#t\r\n_\r\n,1.5\r\n(123\r\n=5\r\ntxt:a\r\n" +
		">3\r\n+message\r\n$1\r\na\r\n$1\r\nb\r\n>1\r\n*1\r\n+x\r\n"
	for size := 1; size <= len(replies); size++ {
		if whole, err := single.Follow(replies, size); err != nil || whole != 13 {
			t.Fatalf("pieces of %d bytes: %d values, error %v", size, whole, err)
		}
	}
}

// Goal: requests are counted, in pieces of any size and whatever they say.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	sent := "*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$0\r\n\r\n$9\r\n*1\r\n$1\r\n7\r\n*2\r\n$3\r\nGET\r\n$12\r\n123456789012\r\n"
	for size := 1; size <= len(sent); size++ {
		if n := single.Count(sent, size); n != 3 {
			t.Fatalf("pieces of %d bytes: %d requests, want 3", size, n)
		}
	}
}

func FuzzGuard(f *testing.F) {
	for _, text := range malformed {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		whole, err := single.Follow(text, len(text)+1)
		bytewise, errBytewise := single.Follow(text, 1)
		if whole != bytewise || (err == nil) != (errBytewise == nil) {
			t.Errorf("%q: %d, %v in one piece, and %d, %v byte by byte", text, whole, err, bytewise, errBytewise)
		}
	})
}

// fragile is a connection of a user that panics while that is on.
type fragile struct {
	net.Conn
	reads, writes *atomic.Bool
}

func (f fragile) Read(p []byte) (int, error) {
	n, err := f.Conn.Read(p)
	if f.reads.Load() {
		panic("ouch")
	}
	return n, err
}

func (f fragile) Write(p []byte) (int, error) {
	if f.writes.Load() {
		panic("ouch")
	}
	return f.Conn.Write(p)
}

// Goal: a connection of a user that panics is a broken one.
func TestAConnectionThatPanicsIsABrokenOne(t *testing.T) {
	t.Parallel()
	server, reads, writes := redistest.Shared(t), new(atomic.Bool), new(atomic.Bool)
	d := open(t, single.Options{Address: server.Addr(), Dial: func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		return fragile{conn, reads, writes}, err
	}})
	for _, on := range []*atomic.Bool{reads, writes} {
		for _, shared := range []bool{false, true} {
			if shared {
				shareConnection(t, d)
			}
			on.Store(true)
			if reply := d.Do(t.Context(), command("PING")); reply.Err == nil {
				t.Error("it answers")
			}
			on.Store(false)
			eventuallyWorks(t, d)
		}
	}
}
