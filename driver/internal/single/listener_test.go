package single_test

import (
	"context"
	"errors"
	"testing"
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
