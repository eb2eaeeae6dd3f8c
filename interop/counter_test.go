//go:build interop

package interop_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Semaphores and latches, beside those of Redisson.

// applyCounter carries out a verb on a semaphore or a latch.
func (t *thread) applyCounter(c command, a *answer) (err error) {
	ctx, cancel := t.ctx, context.CancelFunc(func() {})
	if c.Verb == "tryLock" && c.Wait > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(c.Wait)*time.Millisecond)
	}
	defer cancel()
	switch c.Kind {
	case "semaphore":
		err = t.applySemaphore(ctx, c, a)
	case "permits":
		err = t.applyPermits(ctx, c, a)
	default:
		err = t.applyLatch(ctx, c, a)
	}
	if errors.Is(err, redlatch.ErrNotAcquired) {
		a.OK, err = false, nil
	}
	return err
}

func (t *thread) applySemaphore(ctx context.Context, c command, a *answer) (err error) {
	s := t.client.Semaphore(c.Name)
	switch c.Verb {
	case "set":
		a.OK, err = s.TrySetPermits(ctx, c.Count)
	case "add":
		err = s.AddPermits(ctx, c.Count)
	case "tryLock":
		if c.Wait <= 0 {
			a.OK, err = s.TryAcquire(ctx, c.Count)
		} else {
			err = s.Acquire(ctx, c.Count)
		}
	case "lock":
		err = s.Acquire(ctx, c.Count)
	case "unlock":
		err = s.Release(ctx, c.Count)
	case "drain":
		a.Value, err = count(s.Drain(ctx))
	default:
		a.Value, err = count(s.Available(ctx))
	}
	return err
}

func (t *thread) applyPermits(ctx context.Context, c command, a *answer) (err error) {
	s := t.client.PermitSemaphore(c.Name)
	key := c.Kind + " " + c.Name
	switch c.Verb {
	case "set":
		a.OK, err = s.TrySetPermits(ctx, c.Count)
	case "add":
		err = s.AddPermits(ctx, c.Count)
	case "lock", "tryLock":
		var opts []redlatch.LockOption
		if c.Lease >= 0 {
			opts = append(opts, redlatch.WithLease(time.Duration(c.Lease)*time.Millisecond))
		}
		if c.Verb == "tryLock" && c.Wait <= 0 {
			opts = append(opts, redlatch.WithWait(0))
		}
		var h *redlatch.Hold
		if h, err = s.Acquire(ctx, opts...); err == nil {
			a.Owner = h.Owner()
			t.holds[key] = append(t.holds[key], h)
		}
	case "unlock":
		last := len(t.holds[key]) - 1
		h := t.holds[key][last]
		t.holds[key] = t.holds[key][:last]
		err = h.Unlock(ctx)
	default:
		a.Value, err = count(s.Available(ctx))
	}
	return err
}

func (t *thread) applyLatch(ctx context.Context, c command, a *answer) (err error) {
	l := t.client.Latch(c.Name)
	switch c.Verb {
	case "set":
		a.OK, err = l.TrySetCount(ctx, c.Count)
	case "unlock":
		err = l.CountDown(ctx)
	case "lock":
		err = l.Wait(ctx)
	default:
		a.Value, err = count(l.Count(ctx))
	}
	return err
}

func count(n int, err error) (int64, error) { return int64(n), err }

// Goal: what one side does, the other side sees. Method: the same steps by turns, and both read the
// number after each.
func countsAlike(t *testing.T, r rig) {
	r.bothWays(t, func(t *testing.T, one, other peer) {
		a, b := newClient(t, one, settings{watchdog: 30 * time.Second}), newClient(t, other, settings{watchdog: 30 * time.Second})
		for kind, steps := range map[string][]struct {
			c    command
			ok   bool
			want int64 // afterwards
		}{
			"semaphore": {
				{command{Verb: "set", Count: 5}, true, 5}, {command{Verb: "set", Count: 7}, false, 5}, {command{Verb: "tryLock", Wait: -1, Count: 3}, true, 2},
				{command{Verb: "tryLock", Wait: -1, Count: 3}, false, 2}, {command{Verb: "unlock", Count: 1}, true, 3}, {command{Verb: "add", Count: 4}, true, 7},
				{command{Verb: "add", Count: -2}, true, 5}, {command{Verb: "lock", Count: 5}, true, 0}, {command{Verb: "unlock", Count: 2}, true, 2}, {command{Verb: "drain"}, true, 0},
			},
			"permits": {
				{command{Verb: "set", Count: 2}, true, 2}, {command{Verb: "set", Count: 7}, false, 2}, {command{Verb: "lock", Lease: 60000}, true, 1},
				{command{Verb: "tryLock", Wait: 0, Lease: 60000}, true, 0}, {command{Verb: "tryLock", Wait: 0, Lease: 60000}, false, 0}, {command{Verb: "add", Count: 1}, true, 1},
				{command{Verb: "add", Count: 0}, true, 1},
			},
			"latch": {
				{command{Verb: "lock"}, true, 0}, {command{Verb: "unlock"}, true, 0}, {command{Verb: "set", Count: 2}, true, 2}, {command{Verb: "set", Count: 3}, false, 2},
				{command{Verb: "unlock"}, true, 1}, {command{Verb: "unlock"}, true, 0}, {command{Verb: "lock"}, true, 0}, {command{Verb: "set", Count: 1}, true, 1},
			},
		} {
			name := redistest.Name(t)
			for i, step := range steps {
				c := step.c
				c.Kind, c.Name = kind, name
				by := []actor{a, b}[i%2]
				if got := by.do(t, c); got.OK != step.ok || got.Error != "" {
					t.Errorf("%s, step %d, %+v by %v: %+v", kind, i, c, by, got)
				}
				for _, reader := range []actor{a, b} {
					if got := reader.must(t, verb("count", kind, name)); got.Value != step.want {
						t.Errorf("%s, step %d, %+v: %v sees %d, want %d", kind, i, c, reader, got.Value, step.want)
					}
				}
			}
		}
	})
}

// Goal: a waiter of one side is told by the other side, also if Redisson's waiters do not ask by
// themselves. Method: the middle of some tries.
func toldOfPermits(t *testing.T, r rig) {
	r.bothWays(t, func(t *testing.T, one, other peer) {
		holder, waiter := newClient(t, one, settings{watchdog: 30 * time.Second}), newClient(t, other, settings{watchdog: 30 * time.Second})
		for _, kind := range []string{"semaphore", "permits", "latch"} {
			var took []time.Duration
			for range 7 {
				name := redistest.Name(t)
				holder.must(t, verb("set", kind, name).of(1))
				if kind != "latch" {
					holder.must(t, lock(kind, name).of(1))
				}
				wanted := lock(kind, name).of(1)
				got := waiter.start(wanted)
				redistest.Eventually(t, 20*time.Second, func() bool { return subscribers(t, kind, name) > 0 }, "the waiter has subscribed")
				time.Sleep(20 * time.Millisecond) // and looked once more, which nothing tells
				freed := holder.must(t, unlock(kind, name).of(1))
				entered := waiter.await(t, wanted, got)
				if !entered.OK || entered.Error != "" {
					t.Fatalf("%s: %+v", kind, entered)
				}
				took = append(took, entered.at().Sub(freed.from()))
			}
			slices.Sort(took)
			t.Logf("%s: %s frees, %s enters: %v", kind, one.language(), other.language(), took)
			if took[3] > told {
				t.Errorf("%s: the middle of the tries is %v", kind, took[3])
			}
		}
	})
}

func subscribers(t *testing.T, kind, name string) int64 {
	t.Helper()
	channel := "redisson_sc:{" + name + "}"
	if kind == "latch" {
		channel = "redisson_countdownlatch__channel__{" + name + "}"
	}
	return redistest.Shared(t).CLI(t, "PUBSUB", "NUMSUB", channel).([]any)[1].(int64)
}

// Goal: in random mixed histories there are never more holders than permits, and in the end none is
// lost. Method: threads of both sides take permits and put them back; some leave leased ones to their
// end. What each had for certain lies between the return of one call and the beginning of the next.
func permitHistories(t *testing.T, r rig) {
	for _, kind := range []string{"semaphore", "permits"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const permits = 4
			span := 7 * time.Second
			if r.newest(t) {
				span *= 2
			}
			name := redistest.Name(t)
			theirs, ours := newClient(t, r.theirs, settings{watchdog: 30 * time.Second}), newClient(t, r.latch, settings{watchdog: 30 * time.Second})
			second := newClient(t, r.latch, settings{watchdog: 30 * time.Second})
			ours.must(t, verb("set", kind, name).of(permits))
			var mu sync.Mutex
			var all []stay
			counts := map[string]int{}
			enough := func() bool {
				mu.Lock()
				defer mu.Unlock()
				return counts["Go"] >= 100 && counts[r.theirs.language()] >= 20
			}
			var workers sync.WaitGroup
			end := time.Now().Add(span)
			patience := end.Add(time.Minute) // of a busy machine
			for n := range 15 {
				by := []actor{theirs, ours, second}[n%3].thread(1 + n)
				workers.Go(func() {
					for time.Now().Before(end) || !enough() && time.Now().Before(patience) {
						if one, ok := historyStep(t, by, kind, name); ok {
							mu.Lock()
							all = append(all, one)
							counts[by.peer.language()]++
							mu.Unlock()
						}
					}
				})
			}
			workers.Wait()
			most, _ := overlaps(all, permits)
			t.Logf("%s: %v times held, at most %d at a time", kind, counts, most)
			if most > permits || most < permits {
				t.Errorf("%d permits were held at a time, of %d", most, permits)
			}
			if !enough() {
				t.Errorf("the histories are too short: %v", counts)
			}
			redistest.Eventually(t, 10*time.Second, func() bool {
				return ours.must(t, verb("count", kind, name)).Value == permits && theirs.must(t, verb("count", kind, name)).Value == permits
			}, "all permits are back")
		})
	}
}

// historyStep takes permits, holds them for a moment, and puts them back.
func historyStep(t *testing.T, by actor, kind, name string) (one stay, ok bool) {
	c := tryLock(kind, name).waiting(time.Duration(rand.IntN(50)) * time.Millisecond)
	c.Lease = 20_000
	n := 1
	if kind == "semaphore" {
		n = 1 + rand.IntN(2)
	}
	abandon := kind == "permits" && rand.IntN(20) == 0
	if abandon {
		c.Lease = 300
	}
	sent := time.Now()
	got := by.do(t, c.of(n))
	if got.Error != "" && !strings.Contains(got.Error, redlatch.ErrUnknownOutcome.Error()) { // on a busy machine; it is undone
		t.Errorf("%v: %+v: %+v", by, c, got)
	}
	if !got.OK {
		return one, false
	}
	one = stay{by: by, from: time.Now(), n: n}
	time.Sleep(time.Duration(rand.IntN(5)) * time.Millisecond)
	if abandon {
		one.to = sent.Add(time.Duration(c.Lease-10) * time.Millisecond)
		return one, one.to.After(one.from)
	}
	one.to = time.Now()
	by.must(t, unlock(kind, name).of(n))
	return one, true
}
