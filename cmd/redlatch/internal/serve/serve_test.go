package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/serve"
)

// serving serves a handler until the end of the test, and counts the connections.
func serving(t *testing.T, handler http.HandlerFunc, connections int) (address string, open *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counted := &counting{Listener: listener}
	server := serve.New(handler, connections)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(counted)
	}()
	t.Cleanup(func() { serve.Shutdown(server); <-ended })
	return listener.Addr().String(), &counted.open
}

// counting is a listener that counts the connections that are open.
type counting struct {
	net.Listener
	open atomic.Int64
}

func (l *counting) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.open.Add(1)
	return &counted{Conn: conn, open: &l.open}, nil
}

type counted struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *counted) Close() error {
	if c.closed.CompareAndSwap(false, true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// dial opens a connection until the end of the test, and writes the beginning of a request.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

func ask(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

// Goal: idle connections keep nobody out, and do not add up. Method: they send nothing, a part of a
// request, or a whole one before they are idle.
func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{"nothing": "", "a part": "GET / HTT", "a request": "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			address, open := serving(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }, 20)
			for range 500 {
				dial(t, address, text)
			}
			if said := ask(t, address); said != "ok" {
				t.Errorf("it says %q", said)
			}
			if n := open.Load(); n > 21 {
				t.Errorf("%d connections are open", n)
			}
		})
	}
}

// Goal: a request that is being answered is never cut off by others, and lasts longer than the time to read one.
func TestAnAnswerIsNotCutOff(t *testing.T) {
	t.Parallel()
	begun, end := make(chan struct{}), make(chan struct{})
	address, open := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			return
		}
		begun <- struct{}{}
		<-end
		fmt.Fprint(w, r.Context().Err())
	}, 3)
	var streams []net.Conn
	for range 3 {
		streams = append(streams, dial(t, address, "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"))
		<-begun
	}
	for range 100 { // one by one, so that each has been refused before the next
		extra := dial(t, address, "")
		_ = extra.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := extra.Read(make([]byte, 1)); err == nil {
			t.Error("a connection too many is answered")
		}
	}
	if n := open.Load(); n > 3 {
		t.Errorf("%d connections are open", n)
	}
	close(end)
	for _, stream := range streams {
		answer, err := http.ReadResponse(bufio.NewReader(stream), nil)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(answer.Body); string(text) != "<nil>" {
			t.Errorf("an answer is %q", text)
		}
	}
}

// Goal: no server of the command lacks a timeout.
func TestEveryTimeoutIsSet(t *testing.T) {
	t.Parallel()
	s := serve.New(http.NotFoundHandler(), 1)
	for _, timeout := range []time.Duration{s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout, s.IdleTimeout} {
		if timeout <= 0 {
			t.Errorf("a timeout is missing: %+v", s)
		}
	}
	if s.MaxHeaderBytes <= 0 || s.HTTP2.MaxConcurrentStreams <= 0 {
		t.Errorf("a bound is missing: %+v", s)
	}
}
