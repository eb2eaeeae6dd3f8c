package weather_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// Permits, semaphores and latches whose slot of a cluster moves.

// goRound has goroutines of several clients pass through a section, each of them again and again until stop is
// closed. It reports errors, and more than most inside at once.
func goRound(t *testing.T, clients []*redlatch.Client, most int64, rounds *atomic.Int64, stop <-chan struct{}, enter func(c *redlatch.Client) (leave func() error, err error)) {
	var inside atomic.Int64
	var all sync.WaitGroup
	for i := range 3 * len(clients) {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				leave, err := enter(clients[i%len(clients)])
				if err != nil {
					t.Error("enter:", err)
					return
				}
				if n := inside.Add(1); n > most {
					t.Errorf("%d inside, of %d", n, most)
				}
				rounds.Add(1)
				inside.Add(-1)
				if err := leave(); err != nil {
					t.Error("leave:", err)
					return
				}
			}
		})
	}
	all.Wait()
}

// Goal: a slot that moves to another server costs nobody a permit and nobody an error, and a latch opens.
func TestSlotsMoveUnderContendedPermits(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	cfg := redlatch.Config{CommandTimeout: 20 * time.Second, ReleaseTimeout: 20 * time.Second, LeaseTime: time.Minute}
	clients := []*redlatch.Client{fixture.Open(t, fixture.ClusterURL(cluster), cfg), fixture.Open(t, fixture.ClusterURL(cluster), cfg)}
	ctx := t.Context()
	for kind, enter := range map[string]func(c *redlatch.Client, name string) (func() error, error){
		"permits": func(c *redlatch.Client, name string) (func() error, error) {
			h, err := c.PermitSemaphore(name).Acquire(ctx)
			return func() error { return h.Unlock(ctx) }, err
		},
		"semaphore": func(c *redlatch.Client, name string) (func() error, error) {
			return func() error { return c.Semaphore(name).Release(ctx, 1) }, c.Semaphore(name).Acquire(ctx, 1)
		},
	} {
		latch := clients[0].Latch(redistest.Name(t)) // which has no braces: the others are in its slot
		tag := "{" + latch.Name() + "}"
		name := tag + kind
		check.Must(latch.TrySetCount(ctx, 1))
		if kind == "permits" {
			check.Must(clients[0].PermitSemaphore(name).TrySetPermits(ctx, 3))
		} else {
			check.Must(clients[0].Semaphore(name).TrySetPermits(ctx, 2))
		}
		held := check.Must(fixture.PermitsOf(t, clients[0], tag+"held", 1).Acquire(ctx))
		opened := make(chan error, 1)
		go func() { opened <- clients[1].Latch(latch.Name()).Wait(ctx) }()
		stop, over := make(chan struct{}), make(chan struct{})
		var rounds atomic.Int64
		most := map[string]int64{"permits": 3, "semaphore": 2}[kind]
		go func() {
			defer close(over)
			goRound(t, clients, most, &rounds, stop, func(c *redlatch.Client) (func() error, error) { return enter(c, name) })
		}()
		for range 3 {
			before := rounds.Load()
			redistest.Eventually(t, 20*time.Second, func() bool { return rounds.Load() > before+3 || t.Failed() }, "the permits go round")
			cluster.MoveSlot(t, name, otherMaster(t, cluster, cluster.Master(t, name)), nil)
		}
		close(stop)
		<-over
		if err := errors.Join(held.Unlock(ctx), latch.CountDown(ctx), <-opened); err != nil {
			t.Errorf("%s: what was held, or waited for, while the slot moved: %v", kind, err)
		}
		if kind == "permits" {
			fixture.Available(t, clients[0].PermitSemaphore(name), 3)
		} else {
			fixture.Available(t, clients[0].Semaphore(name), 2)
		}
	}
}

// Goal: a slot that stays with two servers answers TRYAGAIN where a script needs two keys of which one is not
// there yet. Then nothing is taken. Who waits for longer enters when the slot has moved, whatever its timeout.
func TestLongASlotThatStaysOpenRefusesPermits(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	short := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{CommandTimeout: 300 * time.Millisecond})
	long := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{CommandTimeout: 20 * time.Second, ReleaseTimeout: 20 * time.Second})
	ctx, name := t.Context(), redistest.Name(t)
	permits, plain := fixture.PermitsOf(t, short, "{"+name+"}permits", 2), short.Semaphore("{"+name+"}plain")
	check.Must(long.Semaphore(plain.Name()).TrySetPermits(ctx, 2)) // the other client has no record of a request yet
	entered := make(chan *redlatch.Hold, 3)
	cluster.MoveSlot(t, name, otherMaster(t, cluster, cluster.Master(t, name)), func() {
		for _, l := range []redlatch.Lock{short.FairMutex("{" + name + "}fair"), short.RWMutex("{" + name + "}rw").RLocker()} {
			go func() { entered <- check.Must(l.Lock(ctx)) }()
		}
		for what, call := range map[string]func() error{
			"permit":            func() error { return check.ErrOf(permits.Acquire(ctx, redlatch.WithWait(time.Second))) },
			"try":               func() error { return check.ErrOf(permits.TryAcquire(ctx)) },
			"semaphore":         func() error { return check.ErrOf(plain.TryAcquire(ctx, 1)) },
			"semaphore, resize": func() error { return permits.AddPermits(ctx, 1) },
		} {
			err := call()
			for n := 0; n < 5 && errors.Is(err, redlatch.ErrUnknownOutcome); n++ {
				err = call() // its time was over just when it asked once more
			}
			if refused, is := errors.AsType[*driver.ServerError](err); !is || refused.Code() != "TRYAGAIN" || errors.Is(err, redlatch.ErrNotAcquired) || errors.Is(err, redlatch.ErrUnknownOutcome) {
				t.Errorf("%s: %v, want TRYAGAIN", what, err)
			}
		}
		if err := plain.Release(ctx, 1); !errors.Is(err, redlatch.ErrUnknownOutcome) || !strings.Contains(err.Error(), "TRYAGAIN") { // it goes on aside
			t.Errorf("semaphore, put: %v, want an unknown outcome for TRYAGAIN", err)
		}
		go func() { entered <- check.Must(long.PermitSemaphore(permits.Name()).Acquire(ctx)) }()
	})
	for range 3 {
		if err := (<-entered).Unlock(ctx); err != nil {
			t.Error(err)
		}
	}
	fixture.Available(t, permits, 2)
	redistest.Eventually(t, 10*time.Second, func() bool { return check.Must(plain.Available(ctx)) == 3 }, "the permit that was put back while the slot was open")
}

// Goal: a Multi is taken while its slot stays with two servers: each member is one key.
func TestAMultiIsTakenInASlotThatStaysOpen(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, 2, 0)
	c := fixture.Open(t, fixture.ClusterURL(cluster), redlatch.Config{CommandTimeout: 20 * time.Second})
	ctx, name := t.Context(), redistest.Name(t)
	both := check.Must(redlatch.NewMulti(c.Mutex("{"+name+"}a"), c.Mutex("{"+name+"}b")))
	cluster.MoveSlot(t, name, otherMaster(t, cluster, cluster.Master(t, name)), func() {
		for _, lock := range []func(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error){both.Lock, both.TryLock} {
			h, err := lock(ctx)
			if err == nil {
				err = h.Unlock(ctx)
			}
			check.Is(t, "Multi", err, nil)
		}
	})
}
