package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: no call waits for a Connect that ignores its context, and what it makes later is closed.
func TestNobodyWaitsForConnect(t *testing.T) {
	t.Parallel()
	server, release, closed := redistest.Start(t), make(chan struct{}), make(chan struct{})
	connect := func(_ context.Context, address string) (driver.Driver, error) {
		<-release
		d, err := rueidis.Open(context.Background(), rueidis.Options{Address: address})
		return closing{d, closed}, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := cluster.Open(ctx, cluster.Options{Addresses: []string{server.Addr()}, Connect: connect})
		ended <- err
	}()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("Open succeeded")
		}
	case <-time.After(10 * time.Second):
		t.Error("Open does not end")
	}
	close(release)
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("a late driver is not closed")
	}
}

// closing is a driver that tells when it is closed.
type closing struct {
	driver.Driver
	closed chan struct{}
}

func (c closing) Close() { c.Driver.Close(); close(c.closed) }

func TestOpenFailsWithTheReasonsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.set("a:1", func(f *fake) { f.refusing = &driver.ServerError{Message: "WRONGPASS invalid"} })
		all.set("b:2", func(f *fake) { f.spans = nil })
		all.set("c:3", func(f *fake) { f.hanging = true })
		began := time.Now()
		_, err := cluster.Open(t.Context(), cluster.Options{Addresses: []string{"a:1", "b:2", "c:3", "d:4"}, Connect: all.connect})
		for _, text := range []string{"WRONGPASS", "knows of no slots", "no such host", "c:3"} {
			if !strings.Contains(fmt.Sprint(err), text) {
				t.Errorf("%q does not say %q", err, text)
			}
		}
		if !refusedWith(err, "WRONGPASS") {
			t.Errorf("%q is not a server error", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if !get(all, "b:2", func(f *fake) bool { return f.closed }) {
			t.Error("a connection is left")
		}
		began = time.Now()
		if _, err := cluster.Open(t.Context(), cluster.Options{Addresses: []string{"a:1", "d:4"}, Connect: all.connect}); err == nil {
			t.Error("opened with nobody there")
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v to learn that nobody is there", took)
		}
	})
}

func TestOpenNamesTheImpossibleOption(t *testing.T) {
	t.Parallel()
	some := []string{"127.0.0.1:1"}
	for _, c := range []struct {
		option  string
		options cluster.Options
	}{
		{"Addresses", cluster.Options{Connect: connect}},
		{"Addresses", cluster.Options{Addresses: []string{""}, Connect: connect}},
		{"Connect", cluster.Options{Addresses: some}},
		{"CommandTimeout", cluster.Options{Addresses: some, Connect: connect, CommandTimeout: -1}},
	} {
		d, err := cluster.Open(t.Context(), c.options)
		if wrong, ok := errors.AsType[*driver.OptionError](err); !ok || wrong.Option != c.option {
			t.Errorf("%v: error %v, want an OptionError for %s", c.options.Addresses, err, c.option)
		}
		if err == nil {
			d.Close()
		}
	}
}
