package observe_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// What an observer may do when it is told of the members of a whole.

// closing is an observer that closes its client at the first event of a kind.
type closing struct {
	kind   redlatch.EventKind
	client *redlatch.Client
	closed chan error
}

func (o *closing) Observe(ctx context.Context, e redlatch.Event) {
	if e.Kind == o.kind && len(o.closed) == 0 {
		o.closed <- nil // only once
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Hour)
		defer cancel()
		err := o.client.Close(limited)
		<-o.closed
		o.closed <- err
	}
}

// Goal: an observer may close its client whatever was locked. Method: it closes it when it is told
// of the first event of a kind, with an hour's time in a bubble.
func TestAnObserverOfAWholeMayCloseItsClient(t *testing.T) {
	wholes := map[string]func(c *redlatch.Client) redlatch.Lock{
		"mutexes": func(c *redlatch.Client) redlatch.Lock {
			return check.Must(redlatch.NewMulti(c.Mutex("a"), c.Mutex("job")))
		},
		"other kinds": func(c *redlatch.Client) redlatch.Lock {
			return check.Must(redlatch.NewMulti(c.RWMutex("a").RLocker(), c.FairMutex("job")))
		},
		"a quorum": func(c *redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewQuorum(c.Mutex("job"))) },
	}
	for name, whole := range wholes {
		for _, kind := range []redlatch.EventKind{redlatch.EventAcquired, redlatch.EventReleased, redlatch.EventNotAcquired} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx := context.WithoutCancel(t.Context())
					m := check.Must(memory.Open(ctx, memory.Options{}))
					defer m.Close()
					o := &closing{kind: kind, closed: make(chan error, 1)}
					o.client = check.Must(redlatch.New(m, fixture.Quiet(redlatch.Config{Observer: o})))
					other := check.Must(redlatch.New(m, fixture.Quiet(redlatch.Config{})))
					defer func() { _ = other.Close(ctx) }()
					if kind == redlatch.EventNotAcquired {
						check.Must(other.Mutex("job").Lock(ctx))
					}
					if h, err := whole(o.client).TryLock(ctx); err == nil {
						_ = h.Unlock(ctx)
					}
					synctest.Wait()
					if err := <-o.closed; err != nil {
						t.Errorf("Close, called by the observer of %q, waits for the observer: %v", kind, err)
					}
					_ = o.client.Close(ctx)
				})
			})
		}
	}
}

// What replicas did not confirm is released, and the observer closes the client when it is told so.
func TestAnObserverOfWhatWasNotReplicatedMayCloseItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.WithoutCancel(t.Context())
		m := check.Must(memory.Open(ctx, memory.Options{}))
		defer m.Close()
		o := &closing{kind: redlatch.EventReleased, closed: make(chan error, 1)}
		o.client = check.Must(redlatch.New(m, fixture.Quiet(redlatch.Config{Observer: o})))
		_, err := o.client.Mutex("job").Lock(ctx, redlatch.WithReplicas(1, time.Millisecond))
		check.Is(t, "Lock", err, redlatch.ErrNotReplicated)
		if err := <-o.closed; err != nil {
			t.Errorf("Close waits for the observer: %v", err)
		}
		_ = o.client.Close(ctx)
	})
}
