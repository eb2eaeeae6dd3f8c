package wholes_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// awaitEnd waits for the end of a hold, for ten minutes of fake time at most.
func awaitEnd(t *testing.T, h *redlatch.Hold) {
	t.Helper()
	select {
	case <-h.Done():
	case <-time.After(10 * time.Minute):
		t.Fatal("the hold goes on")
	}
}

func TestALostMemberEndsTheWholeAndTheRestRunsOut(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...).Lock(t.Context()))
		time.Sleep(40 * time.Second)
		ctx := h.Context()
		s.Memory.Miniredis().Del("b")
		forced := time.Now()
		awaitEnd(t, h)
		check.Within(t, "time until the whole ended", time.Since(forced), 0, 10*time.Second+time.Millisecond)
		synctest.Wait()
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		check.Is(t, "the cause", context.Cause(ctx), redlatch.ErrLost)
		if h.Valid() {
			t.Error("it is still valid")
		}
		ended := time.Now()
		for s.Memory.Miniredis().Exists("a") || s.Memory.Miniredis().Exists("c") {
			if time.Since(ended) > time.Minute {
				t.Fatal("the rest is renewed")
			}
			time.Sleep(100 * time.Millisecond)
		}
		check.Within(t, "time until the rest had run out", time.Since(ended), 10*time.Second, 30*time.Second)
		check.Is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if err := h.Unlock(t.Context()); err != nil {
			t.Error("the second Unlock:", err)
		}
	})
}

func TestUnlockAfterALossFreesTheRestAtOnce(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...).Lock(t.Context()))
		check.Must(s.Client.Mutex("b").ForceUnlock(t.Context()))
		awaitEnd(t, h)
		check.Is(t, "Unlock", h.Unlock(t.Context()), redlatch.ErrLost)
		if s.Memory.Miniredis().Exists("a") || s.Memory.Miniredis().Exists("c") {
			t.Error("members are still locked")
		}
	})
}

func TestAMemberThatIsReleasedByItselfEndsTheWhole(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...).Lock(t.Context()))
		_ = h.Members()[1].Unlock(t.Context())
		select {
		case <-h.Done():
		default:
			t.Error("the whole goes on")
		}
		check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
		if err := h.Unlock(t.Context()); err != nil {
			t.Error("Unlock:", err)
		}
		if s.Memory.Miniredis().Exists("a") || s.Memory.Miniredis().Exists("c") {
			t.Error("members are still locked")
		}
	})
}

func TestAMultiThatLosesAMemberWhileItWaitsBeginsAgain(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		other := s.Other(redlatch.Config{})
		m := redlatch.NewMulti(fixture.Mutexes(s.Client, "a", "b", "c")...)
		order := strings.Split(m.Name(), "+")
		rival := check.Must(other.Mutex(order[2]).Lock(t.Context()))
		got := make(chan *redlatch.Hold)
		go func() { got <- check.Must(m.Lock(t.Context())) }()
		time.Sleep(time.Second)
		if !check.Must(other.Mutex(order[0]).ForceUnlock(t.Context())) {
			t.Error("the first member was not held while the last was waited for")
		}
		time.Sleep(15 * time.Second) // it notices with the next renewal
		if got := fixture.Locked(t, other, order[:2]...); len(got) != 2 {
			t.Errorf("only %v are locked again", got)
		}
		_ = rival.Unlock(t.Context())
		h := <-got
		if got := fixture.Locked(t, other, "a", "b", "c"); len(got) != 3 || !h.Valid() {
			t.Errorf("only %v are locked, valid: %v", got, h.Valid())
		}
		_ = h.Unlock(t.Context())
	})
}

func TestTheServerOfALaterMemberIsDown(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	up, down := redistest.Start(t), redistest.Start(t)
	if up.URL() > down.URL() {
		up, down = down, up // members are taken in the order of their servers' URLs
	}
	cfg := redlatch.Config{CommandTimeout: 300 * time.Millisecond, ReleaseTimeout: 300 * time.Millisecond}
	a, b := fixture.Open(t, up.URL(), cfg), fixture.Open(t, down.URL(), cfg)
	names := []string{id + "a", id + "b"}
	m := redlatch.NewMulti(append(fixture.Mutexes(a, names...), b.Mutex(id+"c"))...)
	down.Kill()
	_, err := m.Lock(ctx)
	if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
		t.Errorf("Lock is %v, want the network's error", err)
	}
	if got := fixture.Locked(t, a, names...); len(got) > 0 || a.Stats().Holds > 0 {
		t.Errorf("%v are locked", got)
	}
}

func TestClosingAClientEndsAMultiOfItAndOfWaitingForIt(t *testing.T) {
	t.Parallel()
	ctx, id := t.Context(), redistest.Name(t)
	a, b := fixture.Open(t, "memory://"+id+"a", redlatch.Config{}), fixture.Open(t, "memory://"+id+"b", redlatch.Config{})
	watch := fixture.Open(t, "memory://"+id+"b", redlatch.Config{})
	m := redlatch.NewMulti(a.Mutex("x"), b.Mutex("y"))
	rival := check.Must(watch.Mutex("y").Lock(ctx))
	failed := make(chan error)
	go func() {
		_, err := m.Lock(ctx)
		failed <- err
	}()
	redistest.Eventually(t, 5*time.Second, func() bool { return b.Stats().Waiters == 1 }, "it waits for the second member")
	if err := a.Close(ctx); err != nil {
		t.Error(err)
	}
	check.Is(t, "Lock", <-failed, redlatch.ErrClosed)
	_ = rival.Unlock(ctx)
	if got := fixture.Locked(t, watch, "y"); len(got) > 0 {
		t.Error("the member of the other client is locked")
	}
}

// Goal: whatever is lost on the way, nothing is held at the end but what was granted.
// Method: random requests and replies are lost under random Multis, whose callers leave and
// whose clients are closed at random; at the end all leases have passed, and the keys are
// those of nobody.
func TestAMultiLeavesNothingBehindWhateverIsLost(t *testing.T) {
	t.Parallel()
	for range redistest.Stretch(8) {
		seed := rand.Uint64()
		stage.Story(t, redlatch.Config{LeaseTime: 3 * time.Second, CommandTimeout: time.Second, ReleaseTimeout: time.Second}, func(t *testing.T, s *stage.Stage) {
			spoilAtRandom(t, s, seed)
		})
	}
}

func spoilAtRandom(t *testing.T, s *stage.Stage, seed uint64) {
	t.Logf("seed %d", seed)
	cfg := redlatch.Config{LeaseTime: 3 * time.Second, CommandTimeout: time.Second, ReleaseTimeout: time.Second}
	run := &multiRun{t: t, seed: seed, draw: stage.Dice(seed), names: []string{"a", "b", "c", "d"}, inside: map[string]*redlatch.Hold{}}
	var first, second, closing atomic.Pointer[redlatch.Client]
	first.Store(s.Client)
	second.Store(s.Other(cfg))
	closing.Store(s.Other(cfg))
	s.Driver.Spoil(func([]string) stage.Fate {
		return []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost, stage.Arrives, stage.Arrives, stage.Arrives, stage.Arrives, stage.Arrives}[run.draw(8)]
	})
	var work sync.WaitGroup
	work.Go(func() {
		for range 8 {
			time.Sleep(time.Duration(run.draw(4000)) * time.Millisecond)
			next := s.Other(cfg)
			_ = closing.Swap(next).Close(t.Context()) // what it cannot release expires
		}
	})
	for i, c := range []*atomic.Pointer[redlatch.Client]{&first, &first, &second, &second, &closing, &closing} {
		work.Go(func() {
			for range 12 {
				run.visit(i, c.Load())
			}
		})
	}
	work.Wait()
	s.Driver.Spoil(nil)
	time.Sleep(3 * time.Second)
	synctest.Wait()
	if keys := s.Memory.Miniredis().Keys(); len(fixture.Locked(t, s.Client, run.names...)) > 0 {
		t.Errorf("left over: %v (seed %d)", keys, seed)
	}
	for _, c := range s.Others { // the first is s.client
		if n := c.Stats().Holds; n != 0 {
			t.Errorf("%d holds are kept after the end (seed %d)", n, seed)
		}
	}
}

// multiRun is one run of random Multis over a few names.
type multiRun struct {
	t     *testing.T
	seed  uint64
	draw  func(n int) int
	names []string

	mu     sync.Mutex
	inside map[string]*redlatch.Hold // by name, who entered last
}

// visit takes some of the locks together and stays for a moment.
func (run *multiRun) visit(worker int, c *redlatch.Client) {
	t, picked := run.t, run.pick()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Duration(run.draw(5000))*time.Millisecond)
	h, err := redlatch.NewMulti(fixture.Mutexes(c, picked...)...).Lock(ctx, run.options()...)
	cancel()
	if err != nil {
		return
	}
	run.mu.Lock()
	for _, name := range picked {
		if before := run.inside[name]; before != nil && before.Valid() && h.Valid() {
			t.Errorf("worker %d is not alone in %s (seed %d)", worker, name, run.seed)
		}
		run.inside[name] = h
	}
	run.mu.Unlock()
	time.Sleep(time.Duration(run.draw(500)) * time.Millisecond)
	if !h.Valid() {
		t.Logf("lost: %v", h.Err())
	}
	_ = h.Unlock(t.Context())
}

func (run *multiRun) pick() (picked []string) {
	for _, name := range run.names {
		if run.draw(2) == 0 {
			picked = append(picked, name)
		}
	}
	return picked
}

func (run *multiRun) options() []redlatch.LockOption {
	switch run.draw(6) {
	case 0, 1:
		return []redlatch.LockOption{redlatch.WithFencing()}
	case 2:
		return []redlatch.LockOption{redlatch.WithLease(2 * time.Second)}
	case 3:
		return []redlatch.LockOption{redlatch.WithMaxHold(2 * time.Second)}
	}
	return nil
}
