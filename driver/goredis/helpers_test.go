package goredis_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// soon is enough for everything that should just happen, slack what a busy machine may add to a
// bound.
const (
	soon  = 10 * time.Second
	slack = 1500 * time.Millisecond
)

// until closes a client at the end of the test.
func until[C redis.UniversalClient](t testing.TB, client C) C {
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// dial makes a client of go-redis until the end of the test.
func dial(t testing.TB, options *redis.Options) *redis.Client {
	return until(t, redis.NewClient(options))
}

// open makes a driver until the end of the test. On a busy machine New may need more than the command
// timeout of a test, and is called again.
func open(t testing.TB, client redis.UniversalClient, options ...goredis.Option) driver.Driver {
	t.Helper()
	d, err := goredis.Open(t.Context(), client, options...)
	var wrong *driver.OptionError
	for limit := time.Now().Add(soon); err != nil && !errors.As(err, &wrong) && time.Now().Before(limit); {
		d, err = goredis.Open(t.Context(), client, options...)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// command makes a Command whose key is its first argument, if it has any.
func command(words ...string) driver.Command {
	c := driver.Command{Words: words}
	if len(words) > 1 {
		c.Key = words[1]
	}
	return c
}

// do sends a command that has to succeed.
func do(t testing.TB, d driver.Driver, words ...string) driver.Reply {
	t.Helper()
	reply := d.Do(context.Background(), command(words...))
	if reply.Err != nil {
		t.Fatalf("%v: %v", words, reply.Err)
	}
	return reply
}

// wantUnknown checks the error of a command that may have been carried out.
func wantUnknown(t testing.TB, err error) {
	t.Helper()
	var refused *driver.ServerError
	if err == nil || errors.Is(err, driver.ErrNotSent) || errors.As(err, &refused) {
		t.Errorf("error %v, want one that leaves the outcome open", err)
	}
}

// wantNotSent checks the error of a command that certainly was not.
func wantNotSent(t testing.TB, err error) {
	t.Helper()
	if !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("error %v, want ErrNotSent", err)
	}
}

// wantNoContextError checks that an error is not mistaken for the end of the caller's context.
func wantNoContextError(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v is a context's, but not this caller's", err)
	}
}

// eventuallyWorks waits until a command succeeds again.
func eventuallyWorks(t testing.TB, d driver.Driver) {
	t.Helper()
	redistest.Eventually(t, soon, func() bool {
		return d.Do(context.Background(), command("PING")).Err == nil
	}, "commands work again")
}

// within waits for the end of something.
func within(t testing.TB, done <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(soon):
		t.Fatalf("not within %v: %s", soon, what)
	}
}

// plainDialer connects whatever has become of the context, as the dialers of some applications do.
func plainDialer(_ context.Context, network, address string) (net.Conn, error) {
	return net.Dial(network, address)
}
