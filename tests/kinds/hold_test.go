package kinds_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

// What a hold is, and who gets the next one.

// The context of Lock bounds the wait and not the hold. The hold's own context ends with it, and with the hold.
func TestUnlockWorksWithADeadContextAndOnlyOnce(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		ctx, cancel := context.WithCancel(s.Context())
		h := check.Must(s.Home.Lock.Lock(ctx))
		inside := h.Context()
		cancel()
		if inside.Err() == nil {
			s.Error("the hold's context outlives its parent")
		}
		time.Sleep(time.Minute)
		s.Holds("after the end of the context", scene.Taken{Hold: h, Way: s.Lock})
		for range 2 {
			check.Is(s.T, "Unlock", h.Unlock(ctx), nil)
		}
		check.Is(s.T, "Err", h.Err(), redlatch.ErrReleased)
		again, err := s.Home.Lock.TryLock(s.Context())
		if err != nil {
			s.Fatal("the lock is not free:", err)
		}
		var members []context.Context
		for _, m := range again.Members() {
			members = append(members, m.Context())
		}
		s.Home.Free(again)
		for _, ctx := range append(members, again.Context()) {
			check.Is(s.T, "the cause", context.Cause(ctx), redlatch.ErrReleased)
		}
	})
}

// Whoever waits for itself is told so at once, as far as its context says what it holds. Each acquisition takes a
// permit of its own.
func TestLockBelowItsOwnHoldIsADeadlock(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		h := s.Home.Block()
		want := redlatch.ErrReentry
		if !s.Lock.HasOwner() {
			want = redlatch.ErrNotAcquired
		}
		for what, l := range map[string]redlatch.Lock{"Lock": s.Home.Lock, "Lock of the rival": s.Home.Rival} {
			check.Is(s.T, what, check.ErrOf(l.Lock(h.Context(), redlatch.WithWait(time.Second))), want)
		}
		s.Holds("after that", h)
		s.Home.Free(h.Hold)
	})
}

func TestDetachLeavesTheLockToItsLease(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context()))
		time.Sleep(2 * time.Second)
		h.Detach()
		check.Is(s.T, "Err", h.Err(), redlatch.ErrReleased)
		check.Is(s.T, "Unlock after Detach", h.Unlock(s.Context()), nil)
		check.NothingIn(s.T, s.Home.Clients)
		check.Within(s.T, "what is left of the lease", s.Left(), 27*time.Second, 28*time.Second)
		other := s.Stranger()
		began := time.Now()
		other.Free(check.Must(other.Rival.Lock(s.Context())))
		check.Within(s.T, "the wait of a stranger", time.Since(began), 27*time.Second, 34*time.Second)
	})
}

// Waiters of one process are served in the order of arrival, and one that leaves wakes the next. No message comes
// for an hour but for the releases.
func TestWaitersOfOneProcessAreServedInTheOrderOfTheirComing(t *testing.T) {
	inOrder := func(k scene.Kind) bool { return k.Sort == scene.One || k.Sort == scene.Cohort }
	for where, here := range held {
		t.Run(where, func(t *testing.T) {
			scene.EachThat(t, inOrder, redlatch.Config{PollCap: time.Hour}, func(s *scene.Scene) { queueUp(s, here) })
		})
	}
}

func queueUp(s *scene.Scene, here bool) {
	holder := s.Stranger()
	if here {
		holder = s.Home
	}
	first := holder.Block()
	l := s.Home.Lock
	if s.Shared() {
		l = s.Home.Rival // readers enter together
	}
	leaving, leave := context.WithCancel(s.Context())
	var mu sync.Mutex
	var order []int
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			waiting := s.Context()
			if i%7 == 0 {
				waiting = leaving
			}
			h, err := l.Lock(waiting)
			if err != nil {
				return
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			time.Sleep(time.Millisecond)
			s.Home.Free(h)
		})
		time.Sleep(time.Millisecond)
	}
	if n := s.Home.Clients[0].Stats().Waiters; n != 50 {
		s.Errorf("%d wait", n)
	}
	leave()
	time.Sleep(10 * time.Millisecond)
	began := time.Now()
	holder.Free(first.Hold)
	all.Wait()
	if took := time.Since(began); len(order) != 42 || !slices.IsSorted(order) || took > time.Second {
		s.Errorf("served in the order %v, in %v", order, took)
	}
}

// Whoever re-enters does not queue behind those who wait for it: it would wait for itself.
func TestAnOwnerReentersPastThoseWhoWait(t *testing.T) {
	scene.EachThat(t, scene.Kind.CanReenter, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h := check.Must(s.Home.Lock.Lock(ctx))
		var all sync.WaitGroup
		for _, p := range []*scene.Process{s.Home, s.Stranger()} {
			for _, l := range []redlatch.Lock{p.Rival, p.Lock} {
				all.Go(func() { s.Home.Free(check.Must(l.Lock(s.Context()))) })
			}
		}
		time.Sleep(time.Second)
		inner, err := s.Home.Inside.Lock(ctx, redlatch.WithWait(time.Second))
		if err != nil {
			s.Fatal("Lock of the owner:", err)
		}
		s.Home.Free(h)
		s.Home.Free(inner)
		all.Wait()
	})
}

// Goal: goroutines of one owner hold a lock at the same time. Method: none releases it before all of them are in. A
// stranger stays out meanwhile.
func TestGoroutinesOfOneOwnerDoNotExcludeEachOther(t *testing.T) {
	scene.EachThat(t, scene.Kind.CanReenter, redlatch.Config{}, func(s *scene.Scene) {
		ctx, got := s.Home.Owner(), make(chan *redlatch.Hold)
		for range 8 {
			go func() { got <- check.Must(s.Home.Lock.Lock(ctx, redlatch.WithWait(10*time.Second))) }()
		}
		var holds []scene.Taken
		for range 8 {
			holds = append(holds, scene.Taken{Hold: <-got, Way: s.Lock})
		}
		check.Is(s.T, "TryLock of a stranger", check.ErrOf(s.Stranger().Rival.TryLock(s.Context())), redlatch.ErrNotAcquired)
		s.Holds("with all inside", holds...)
		for _, h := range holds {
			s.Home.Free(h.Hold)
		}
	})
}
