package kinds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

// What stands beside a lock: what the holder says of its hold, and that somebody asks for it back.

// recallable is what can be asked for: a lock or a semaphore.
type recallable interface {
	Recall(ctx context.Context, owner, reason string) (bool, error)
}

// ask asks for what an owner has, wherever that is, and says whether it has it.
func ask(s *scene.Scene, by *scene.Process, h *redlatch.Hold, reason string) (asked bool) {
	s.Helper()
	if members := h.Members(); members != nil {
		h = members[0]
	}
	for _, c := range by.Clients {
		var from recallable = c.Mutex(h.Name())
		switch {
		case !s.Lock.HasOwner():
			from = c.PermitSemaphore(h.Name())
		case strings.Contains(s.Kind.Name, "read") || strings.Contains(s.Kind.Name, "write"):
			from = c.RWMutex(h.Name())
		}
		if check.Must(from.Recall(s.Context(), h.Owner(), reason)) {
			asked = true
		}
	}
	return asked
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Goal: the holder learns who asks and why within a third of its lease. It keeps the lock until it unlocks it, and the
// next holder is not asked.
func TestAHolderLearnsThatItsLockIsAskedFor(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		ctx, asker := s.Context(), s.Other(redlatch.Config{Name: "ops@host"})
		plain := check.Must(s.Home.Lock.Lock(ctx))
		if isClosed(plain.Recalled()) || plain.RecallErr() != nil {
			s.Error("nobody asked, and it is recalled")
		}
		s.Home.Free(plain)
		if s.Sort == scene.One && ask(s, asker, plain, "late") {
			s.Error("an owner that has nothing was asked")
		}

		h := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithRecall()))
		began, work := time.Now(), h.Context()
		if !ask(s, asker, h, "deploy 4711") {
			s.Fatal("the owner was not asked")
		}
		<-h.Recalled()
		check.Within(s.T, "it learned of it after", time.Since(began), 0, 11*time.Second)
		why, ok := errors.AsType[*redlatch.RecalledError](h.RecallErr())
		if !ok || why.Author != "ops@host" || why.Reason != "deploy 4711" || !errors.Is(why, redlatch.ErrRecalled) {
			s.Errorf("the reason is %v", h.RecallErr())
		}
		if !errors.Is(context.Cause(work), redlatch.ErrRecalled) {
			s.Errorf("the context ends with %v", context.Cause(work))
		}
		for range 4 {
			check.Is(s.T, "the hold", h.Err(), nil)
			check.Is(s.T, "another one", check.ErrOf(s.Stranger().Rival.TryLock(ctx)), redlatch.ErrNotAcquired)
			time.Sleep(25 * time.Second)
		}
		ask(s, asker, h, "once more")
		s.Home.Free(h)
		next := check.Must(s.Home.Lock.Lock(ctx))
		time.Sleep(time.Minute)
		if isClosed(next.Recalled()) {
			s.Error("the next holder is asked for what was asked of the one before")
		}
		s.Home.Free(next)
	})
}

func TestOneLostRequestOrReplyLosesNoRecall(t *testing.T) {
	for name, what := range fates {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				p := s.Stranger()
				h := check.Must(p.Lock.Lock(s.Context()))
				ask(s, p, h, "") // the servers know the script
				p.Free(h)
				time.Sleep(time.Second)
				h = check.Must(s.Home.Lock.Lock(s.Context()))
				s.SpoilOnce(what)
				if !ask(s, s.Home, h, "") {
					s.Error("the owner was not asked")
				}
				s.SpoilOnce(what) // the renewal
				<-h.Recalled()
				s.Home.Free(h)
			})
		})
	}
}

// Goal: who listens anyway hears of it at once, also without renewals.
func TestARecallIsHeardAtOnceByWhoListens(t *testing.T) {
	listens := func(k scene.Kind) bool { return k.Name == "mutex" || k.Name == "write" || k.Name == "read" }
	scene.EachThat(t, listens, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context(), redlatch.WithLease(time.Hour)))
		waits, leave := context.WithCancel(s.Context())
		left := make(chan error)
		go func() { _, err := s.Home.Rival.Lock(waits); left <- err }()
		time.Sleep(2 * time.Second)
		began := time.Now()
		ask(s, s.Stranger(), h, "")
		<-h.Recalled()
		check.Within(s.T, "it learned of it after", time.Since(began), 0, 100*time.Millisecond)
		leave()
		check.Is(s.T, "the waiter", <-left, redlatch.ErrNotAcquired)
		s.Home.Free(h)
	})
}

// Goal: a cohort that is asked gives the lock back after the turn that is under way, and at once if nobody has a turn.
func TestACohortThatIsAskedPassesTheLockOnNoMore(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort == scene.Cohort }, redlatch.Config{}, func(s *scene.Scene) {
		ctx, other := s.Context(), s.Stranger()
		h := check.Must(s.Home.Lock.Lock(ctx))
		got := make(chan *redlatch.Hold)
		go func() { got <- check.Must(s.Home.Rival.Lock(ctx)) }()
		ask(s, other, h, "")
		<-h.Recalled()
		won := make(chan *redlatch.Hold)
		go func() { won <- check.Must(other.Rival.Lock(ctx)) }()
		synctest.Wait()
		turn := make(chan *redlatch.Hold)
		if !s.Shared() {
			go func() { turn <- check.Must(s.Home.Lock.Lock(ctx)) }()
			synctest.Wait()
		}
		s.Home.Free(h)
		for range 2 {
			select {
			case one := <-got:
				s.Home.Free(one)
			case one := <-won:
				other.Free(one)
			}
		}
		if !s.Shared() {
			later := <-turn
			if later.Owner() == h.Owner() || isClosed(later.Recalled()) {
				s.Error("the turn after that has the hold that was asked for")
			}
			s.Home.Free(later)
		}
	})
}

// Goal: whoever looks, or finds the lock held, reads what the holder says of it. The note lasts as long as the hold.
func TestANoteStandsBesideItsHold(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort != scene.Cohort }, redlatch.Config{}, func(s *scene.Scene) {
		const note = "deploy 4711, by ci"
		ctx := s.Context()
		h := check.Must(s.Home.Lock.Lock(ctx, redlatch.WithNote(note)))
		time.Sleep(time.Second)
		for range 4 {
			_, err := s.Stranger().Rival.TryLock(ctx)
			seen, ok := errors.AsType[*redlatch.NotAcquiredError](err)
			if one := s.Sort == scene.One && s.Lock.HasOwner(); one && (!ok || seen.Note != note || !strings.Contains(err.Error(), note)) {
				s.Errorf("who finds it held is told: %v", err)
			}
			if !strings.Contains(s.Redis(), "note="+note) {
				s.Errorf("Redis has no note: %s", s.Redis())
			}
			time.Sleep(25 * time.Second)
		}
		s.Home.Free(h)
		time.Sleep(time.Second) // a Quorum does not wait for all of its members
		if got := s.Redis(); strings.Contains(got, note) {
			s.Errorf("it is left after Unlock: %s", got)
		}
		if s.Sort != scene.One {
			return
		}
		h = check.Must(s.Home.Lock.Lock(ctx, redlatch.WithNote(note), redlatch.WithLease(10*time.Second)))
		time.Sleep(time.Second)
		h = check.Must(attach(s, s.Home, check.Must(h.Ticket()))).Hold
		time.Sleep(20 * time.Second)
		if !strings.Contains(s.Redis(), "note="+note) {
			s.Errorf("the ticket has not brought the note along: %s", s.Redis())
		}
		s.Home.Free(h)
	})
}
