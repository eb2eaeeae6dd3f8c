package single_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestLongListenerEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	const timeout = time.Second
	server := redistest.Start(t)
	for _, c := range []struct {
		name      string
		hurt      func()
		subscribe bool
	}{
		{"frozen", server.Freeze, true},
		{"frozen before the first subscription", server.Freeze, false},
		{"killed", server.Kill, true},
	} {
		d := open(t, single.Options{Address: server.Addr(), CommandTimeout: timeout})
		listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
		if c.subscribe {
			if err := listener.Subscribe(t.Context(), "channel"); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		c.hurt()
		<-listener.Done()
		wantTook(t, begin, timeout*5/2, c.name)
		if err := listener.Subscribe(t.Context(), "channel"); err == nil {
			t.Errorf("%s: Subscribe succeeded", c.name)
		}
		listener.Close()
		server.Thaw()
	}
}

func TestSubscribingWithAContextThatIsOverSendsNothing(t *testing.T) {
	t.Parallel()
	d := open(t, single.Options{Address: redistest.Shared(t).Addr()})
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, ask := range []func(context.Context, ...string) error{listener.Subscribe, listener.Unsubscribe} {
		if err := ask(over, "channel"); !errors.Is(err, context.Canceled) || !errors.Is(err, driver.ErrNotSent) {
			t.Errorf("error %v, want ErrNotSent and the context's", err)
		}
	}
}

func TestRefusedSubscriptionIsAServerError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "deaf", "on", ">secret", "~*", "resetchannels", "+@all")
	d := open(t, single.Options{Address: server.Addr(), Username: "deaf", Password: "secret"})
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	var refused *driver.ServerError
	err := listener.Subscribe(t.Context(), "a", "b", "c")
	if !errors.As(err, &refused) || refused.Code() != "NOPERM" {
		t.Errorf("error %v, want NOPERM", err)
	}
}

func TestListenReportsARefusedConnection(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, single.Options{Address: proxy.Addr()})
	proxy.Refuse(t, true)
	_, err := d.Listen(t.Context(), driver.Events{})
	wantNotSent(t, err)
	if !errors.Is(err, errRefused) {
		t.Errorf("error %v, want a refused connection", err)
	}
}

// TestCloseEndsListen that waits for a silent server.
func TestCloseEndsListen(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	d := open(t, single.Options{Address: proxy.Addr(), CommandTimeout: time.Minute})
	proxy.Blackhole(true)
	failed := make(chan error)
	go func() {
		_, err := d.Listen(context.Background(), driver.Events{})
		failed <- err
	}()
	begin := time.Now()
	d.Close()
	err := <-failed
	wantNotSent(t, err)
	wantNoContextError(t, err)
	wantTook(t, begin, 0, "Close")
}

// Goal: after an outage a client opens its link first, then the listener for messages, and then the one that takes none.
// Method: how long after the link each of them comes, for 20 clients that call nothing while the server is down.
func TestListenersComeBackAfterLinks(t *testing.T) {
	t.Parallel()
	kinds := []driver.Events{{Message: func(string, string) {}}, {}}
	after := make([][]time.Duration, len(kinds))
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			d, n := openInBubble(t, 3*time.Second)
			link, back := *n.conn.Load(), make([]time.Time, len(kinds))
			redistest.Must(d.Listen(t.Context(), driver.Events{}))
			link.Close()
			n.fail(errDown)
			synctest.Wait()
			var listens sync.WaitGroup
			for i, events := range kinds {
				listens.Go(func() {
					if _, err := d.Listen(t.Context(), events); err != nil {
						t.Error(err)
					}
					back[i] = time.Now()
				})
			}
			time.Sleep(2 * time.Second)
			n.recover()
			do(t, d, "PING")
			linked := time.Now()
			listens.Wait()
			for i := range kinds {
				after[i] = append(after[i], back[i].Sub(linked))
			}
		})
	}
	for i, want := range [][2]time.Duration{{0, 667 * time.Millisecond}, {500 * time.Millisecond, 1500 * time.Millisecond}} {
		least, most := slices.Min(after[i]), slices.Max(after[i])
		if span := want[1] - want[0]; least < want[0] || most > want[1] || least > want[0]+span/2 || most < want[1]-span/2 {
			t.Errorf("listener %d comes %v to %v after the link, want any time from %v to %v", i, least, most, want[0], want[1])
		}
	}
}
