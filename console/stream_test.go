package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// deadlines is a writer that says which deadlines were set.
type deadlines struct {
	*httptest.ResponseRecorder
	read, write []time.Time
}

func (d *deadlines) SetReadDeadline(t time.Time) error  { d.read = append(d.read, t); return nil }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.write = append(d.write, t); return nil }

// Goal: a stream outlives the WriteTimeout of the server around it.
func TestAStreamOutlivesTheTimeoutOfItsServer(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	c := must1(New(src, Options{}))
	server := httptest.NewUnstartedServer(c)
	server.Config.WriteTimeout = time.Millisecond
	server.Start()
	defer server.Close()
	defer c.Close()
	w := (&stage{t, c, server.URL}).watch()
	w.begin(1)
	for i, began := 0, time.Now(); time.Since(began) < 20*time.Millisecond; i++ {
		src.set(reading(held(fmt.Sprint(i), "owner:1", time.Minute)), nil)
		w.begin(1)
	}
}

// Goal: what follows a stream on its connection has the time that its own server gives it.
func TestAStreamLeavesNoDeadlineBehind(t *testing.T) {
	t.Parallel()
	c := must1(New(newSource(), Options{}))
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	var ended sync.WaitGroup
	ended.Go(func() {
		c.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/events", nil))
	})
	for joined := 0; joined == 0; time.Sleep(time.Millisecond) {
		c.feed.mu.Lock()
		joined = len(c.feed.viewers)
		c.feed.mu.Unlock()
	}
	c.Close()
	ended.Wait()
	if n := len(w.write); n > 0 && !w.write[n-1].IsZero() {
		t.Errorf("the deadline is %v", w.write[n-1])
	}
}

// Goal: who comes later learns as well that not all locks are shown.
func TestWhoComesLaterLearnsWhatIsHidden(t *testing.T) {
	t.Parallel()
	var locks []inspect.Lock
	for i := range maxRows + 5 {
		locks = append(locks, inspect.Lock{Name: fmt.Sprint(i), Kind: inspect.KindMutex})
	}
	s := serve(t, newSource(locks...), Options{Every: time.Minute})
	s.watch().begin(maxRows)
	w := s.watch()
	for {
		line := must1(w.lines.ReadString('\n'))
		if strings.Contains(line, `"hidden":5`) {
			return
		}
		if strings.Contains(line, "event: ready") {
			t.Fatal("it does not")
		}
	}
}

// Goal: waits that cannot be read for once stay as they were, as locks do.
func TestWaitsThatCannotBeReadStay(t *testing.T) {
	t.Parallel()
	broken := make(chan struct{})
	waits := func(context.Context) ([]Wait, error) {
		select {
		case <-broken:
			return nil, errors.New("one server of several is away")
		default:
			return []Wait{{Lock: "a", Owner: "other:1"}}, nil
		}
	}
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{Every: minEvery, Waits: waits})
	w := s.watch()
	if row := w.begin(1)["a"]; len(row.Told) != 1 {
		t.Fatalf("got %+v", row)
	}
	close(broken)
	w.until("trouble")
	src.set(reading(held("a", "owner:1", time.Hour)), nil)
	if change := w.until("change"); len(change.Set) != 1 || len(change.Set[0].Told) != 1 {
		t.Errorf("afterwards: %+v", change.Set)
	}
}

// Goal: the page shows the locks while the waits of very many clients are read.
func TestLocksDoNotWaitForTheWaits(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{Every: minEvery, Waits: func(ctx context.Context) ([]Wait, error) { <-ctx.Done(); return nil, ctx.Err() }})
	w := s.watch()
	w.begin(1)
	src.set(reading(held("b", "owner:1", time.Minute)), nil)
	w.until("change")
}

// Goal: a client that asks for the headers of the stream alone gets them, and can go on.
func TestHeadersAloneEnd(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(), Options{})
	conn := must1(net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/some/where")))
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	_, _ = conn.Write([]byte("HEAD /some/where/events HTTP/1.1\r\nHost: localhost\r\n\r\nGET /some/where/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
	if text, err := io.ReadAll(conn); err != nil || strings.Count(string(text), "HTTP/1.1 200 OK") != 2 {
		t.Errorf("got %.300s, %v", text, err)
	}
}
