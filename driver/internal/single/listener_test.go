package single_test

import (
	"context"
	"errors"
	"slices"
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
		listener, err := d.Listen(t.Context(), driver.Events{})
		if err != nil {
			t.Fatal(err)
		}
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
	listener, err := d.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
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
	listener, err := d.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	var refused *driver.ServerError
	err = listener.Subscribe(t.Context(), "a", "b", "c")
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

// Goal: after an outage all clients open their links first, and their listeners bit by bit. Method: how long after
// its link a listener comes, for 20 clients.
func TestListenersComeBackAfterLinks(t *testing.T) {
	t.Parallel()
	var after []time.Duration
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			d, n := openInBubble(t, 3*time.Second)
			n.fail(errDown)
			wantUnknown(t, d.Do(t.Context(), command("PING")).Err)
			listens := make(chan time.Time)
			go func() {
				if _, err := d.Listen(context.Background(), driver.Events{}); err != nil {
					t.Error(err)
				}
				listens <- time.Now()
			}()
			time.Sleep(2 * time.Second)
			n.recover()
			do(t, d, "PING")
			linked := time.Now()
			after = append(after, (<-listens).Sub(linked))
		})
	}
	if least, most := slices.Min(after), slices.Max(after); least > 600*time.Millisecond || most < 400*time.Millisecond || most > time.Second {
		t.Errorf("listeners come %v to %v after links, want a time within the next second", least, most)
	}
}
