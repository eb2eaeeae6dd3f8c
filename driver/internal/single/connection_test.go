package single_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// TestTwoConnections: one carries every command, the other the subscriptions.
func TestTwoConnections(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr()})
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	var callers sync.WaitGroup
	for range 50 {
		callers.Go(func() {
			long := make([]driver.Command, 3000)
			for i := range long {
				long[i] = command("PING")
			}
			d.Pipeline(context.Background(), long...)
			d.Do(t.Context(), command("PING"))
			if err := listener.Subscribe(t.Context(), redistest.Name(t)); err != nil {
				t.Error(err)
			}
		})
	}
	callers.Wait()
	list := do(t, d, "CLIENT", "LIST").Str
	if strings.Count(list, "id=") != 2 || strings.Count(list, "name=redlatch ") != 2 {
		t.Errorf("want two connections named redlatch, have\n%s", list)
	}
	listener.Close()
	redistest.Eventually(t, soon, func() bool {
		return strings.Count(do(t, d, "CLIENT", "LIST").Str, "id=") == 1
	}, "the listener's connection is gone")
}

func TestSubscriptionsAreNotCommands(t *testing.T) {
	t.Parallel()
	d := open(t, single.Options{Address: redistest.Shared(t).Addr()})
	for _, word := range []string{"SUBSCRIBE", "unsubscribe", "PSubscribe", "SSUBSCRIBE"} {
		wantNotSent(t, d.Do(t.Context(), command(word, "channel")).Err)
	}
	do(t, d, "PING")
}

func TestEncryptedConnections(t *testing.T) {
	t.Parallel()
	// Nothing but its certificate, made for 127.0.0.1, is wanted of this server.
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	front := redistest.NewTLSFront(t, redistest.Shared(t).Addr(), certified.TLS.Certificates[0])

	authorities := x509.NewCertPool()
	authorities.AddCert(certified.Certificate())
	d := open(t, single.Options{Address: front, TLS: &tls.Config{RootCAs: authorities}})
	do(t, d, "PING")
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	listener.Close()

	if d, err := single.Open(t.Context(), single.Options{Address: front, TLS: &tls.Config{}}); err == nil {
		d.Close()
		t.Error("a certificate of unknown origin was accepted")
	}
}

// Goal: a port for TLS that gets a plain connection is distinguished from one without a server.
// Method: it hangs up in silence, with an alert, or behind an answer.
func TestAServerThatHangsUpIsExplained(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]bool{"": true, "\x15\x03\x01\x00\x02\x02\x46": true, "-ERR no\r\n": false, "!": false} {
		listener := redistest.Must(net.Listen("tcp", "127.0.0.1:0"))
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Read(make([]byte, 4096))
				io.WriteString(conn, words)
				conn.Close()
			}
		}()
		_, err := single.Open(t.Context(), single.Options{Address: listener.Addr().String()})
		if errors.Is(err, single.ErrHungUp) != want || err == nil {
			t.Errorf("after %q: error %v", words, err)
		}
		listener.Close()
	}
}
