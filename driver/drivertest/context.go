package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// ends are the two ways in which a context is over.
var ends = []struct {
	name string
	end  func(context.Context, time.Duration) (context.Context, context.CancelFunc)
	want error
}{
	{"deadline", context.WithTimeout, context.DeadlineExceeded},
	{"cancelled", func(ctx context.Context, after time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(after, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}, context.Canceled},
}

func contextThatIsOverSendsNothing(t *testing.T, d driver.Driver) {
	key := unique()
	for _, e := range ends {
		ctx, cancel := e.end(t.Context(), 0)
		defer cancel()
		<-ctx.Done()
		check := func(verb string, err error) {
			t.Helper()
			if !errors.Is(err, e.want) || !errors.Is(err, driver.ErrNotSent) {
				t.Errorf("%s, %s: %v, want ErrNotSent and %v", e.name, verb, err, e.want)
			}
		}
		check("Do", d.Do(ctx, command("SET", key, "x")).Err)
		for name, send := range pipelines(d) {
			for _, reply := range send(ctx, command("SET", key, "x"), command("SET", key, "y")) {
				check(name, reply.Err)
			}
		}
		_, err := d.Listen(ctx, driver.Events{})
		check("Listen", err)
	}
	if got := do(t, d, command("GET", key)); !got.IsNil {
		t.Errorf("a command was sent nevertheless: %+v", got)
	}
}

// contextThatEndsEndsTheCall has the server hold a reply back, by waiting for
// an element of a list, for longer than the call may take.
func contextThatEndsEndsTheCall(t *testing.T, d driver.Driver) {
	wait := command("BLPOP", unique(), "1")
	for _, e := range ends {
		for _, verb := range []struct {
			name string
			call func(context.Context) error
		}{
			{"Do", func(ctx context.Context) error { return d.Do(ctx, wait).Err }},
			{"Pipeline", func(ctx context.Context) error { return d.Pipeline(ctx, wait)[0].Err }},
			{"DedicatedPipeline", func(ctx context.Context) error { return d.DedicatedPipeline(ctx, wait)[0].Err }},
		} {
			d.DedicatedPipeline(t.Context(), command("PING")) // so that there is a dedicated connection
			var err error
			for after := 50 * time.Millisecond; after < time.Second; after *= 2 { // a busy machine may not send it in time
				ctx, cancel := e.end(t.Context(), after)
				begin := time.Now()
				err = verb.call(ctx)
				cancel()
				if took := time.Since(begin); took > after+750*time.Millisecond {
					t.Errorf("%s, %s: returned after %v, its context ended after %v", e.name, verb.name, took, after)
				}
				if !errors.Is(err, driver.ErrNotSent) {
					break
				}
			}
			if _, ok := errors.AsType[*driver.ServerError](err); !errors.Is(err, e.want) || errors.Is(err, driver.ErrNotSent) || ok {
				t.Errorf("%s, %s: %v, want %v and no claim about the outcome", e.name, verb.name, err, e.want)
			}
			do(t, d, command("EXISTS", wait.Key)) // the connection, or another one, works
		}
	}
}
