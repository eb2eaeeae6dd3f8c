package observe_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// What an event says besides its kind.

// eventLog keeps the events of one observer.
type eventLog struct {
	mu  sync.Mutex
	all []redlatch.Event
}

func (l *eventLog) Observe(_ context.Context, e redlatch.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, e)
}

// of waits until nothing happens any more, and returns the events of a kind so far.
func (l *eventLog) of(kind redlatch.EventKind) []redlatch.Event {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.all), func(e redlatch.Event) bool { return e.Kind != kind })
}

// one is the one event of a kind.
func (l *eventLog) one(t *testing.T, kind redlatch.EventKind) redlatch.Event {
	t.Helper()
	all := l.of(kind)
	if len(all) != 1 {
		t.Fatalf("%d events %q, want one: %+v", len(all), kind, all)
	}
	return all[0]
}

// Goal: each event of a hold has the kind of the lock, the owner, and the moment of the acquisition.
func TestEventsSayWhichKindOfLockAndWhichHold(t *testing.T) {
	for kind, lock := range map[redlatch.LockKind]func(c *redlatch.Client) redlatch.Lock{
		redlatch.KindMutex: func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		redlatch.KindFair:  func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
		redlatch.KindWrite: func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job") },
		redlatch.KindRead:  func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").RLocker() },
	} {
		for _, whole := range []bool{false, true} {
			seen := &eventLog{}
			stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
				began := time.Now()
				l := lock(s.Client)
				if whole {
					l = check.Must(redlatch.NewMulti(l))
				}
				hold := check.Must(l.Lock(s.Limited()))
				time.Sleep(time.Minute)
				if err := hold.Unlock(s.Limited()); err != nil {
					t.Error(err)
				}
				acquired, released := seen.one(t, redlatch.EventAcquired), seen.one(t, redlatch.EventReleased)
				for _, e := range append(seen.of(redlatch.EventRenewed), acquired, released) {
					if e.LockKind != kind || e.Owner == "" || e.Lock != "job" || !e.Since.Equal(acquired.Since) || e.Since.Sub(began) > time.Second {
						t.Errorf("%s, member %v: %+v", kind, whole, e)
					}
				}
				if released.Took < time.Minute || acquired.Took > time.Second {
					t.Errorf("waited %v, held %v", acquired.Took, released.Took)
				}
			})
		}
	}
}

// Goal: a renewal says how long it took and how much time was left. Method: the server is away
// while a renewal is due.
func TestEventsOfRenewalsSayWhatWasLeft(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		check.Must(s.Client.Mutex("job").Lock(s.Limited()))
		time.Sleep(11 * time.Second)
		e := seen.one(t, redlatch.EventRenewed)
		if e.Late || e.Left < 19*time.Second || e.Left > 20*time.Second || e.Took > time.Second {
			t.Errorf("after 10 s of 30: %+v", e)
		}
		s.Driver.Spoil(func([]string) stage.Fate { return stage.NotSent })
		time.Sleep(17 * time.Second) // the next renewal is due after 9
		s.Driver.Spoil(nil)
		time.Sleep(2 * time.Second)
		all := seen.of(redlatch.EventRenewed)
		if e := all[len(all)-1]; len(all) != 2 || !e.Late || e.Left > 14*time.Second {
			t.Errorf("after an outage of 8 s: %+v", all)
		}
		if stats := s.Client.Stats(); stats.LateRenewals != 1 {
			t.Errorf("%+v", stats)
		}
	})
}

// Goal: a loss says why it happened, also if the release finds it out.
func TestEventsOfLossesSayWhy(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		job, other := s.Client.Mutex("job"), s.Other(redlatch.Config{}).Mutex("job")
		want := func(kind redlatch.EventKind, why redlatch.Loss) {
			t.Helper()
			all := seen.of(kind)
			if e := all[len(all)-1]; e.Loss != why || e.Err == nil || e.Owner == "" {
				t.Errorf("want %q: %+v", why, e)
			}
		}
		for _, end := range []redlatch.LockOption{redlatch.WithLease(time.Second), redlatch.WithMaxHold(time.Minute)} {
			check.Must(job.Lock(s.Limited(), end))
			time.Sleep(2 * time.Minute)
			want(redlatch.EventLost, redlatch.LossEnded)
		}
		check.Must(job.Lock(s.Limited()))
		check.Must(other.ForceUnlock(s.Limited()))
		time.Sleep(time.Minute)
		want(redlatch.EventLost, redlatch.LossGone)

		hold := check.Must(job.Lock(s.Limited()))
		check.Must(other.ForceUnlock(s.Limited()))
		check.Is(t, "Unlock", hold.Unlock(s.Limited()), redlatch.ErrLost)
		want(redlatch.EventReleased, redlatch.LossGone)

		check.Must(job.Lock(s.Limited()))
		s.Driver.Spoil(func([]string) stage.Fate { return stage.NotSent })
		time.Sleep(time.Minute)
		s.Driver.Spoil(nil)
		want(redlatch.EventLost, redlatch.LossExpired)
		if lost := seen.of(redlatch.EventLost); len(lost) != 4 {
			t.Errorf("%d losses: %+v", len(lost), lost)
		}
	})
}

// Goal: a loss is told once, also if the release of one hold of several finds it out.
func TestALossIsToldOnce(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		ctx, job := s.Client.WithOwner(s.Limited()), s.Client.Mutex("job")
		check.Must(job.Lock(ctx))
		inner := check.Must(job.Lock(ctx))
		check.Must(s.Other(redlatch.Config{}).Mutex("job").ForceUnlock(ctx))
		check.Is(t, "Unlock", inner.Unlock(ctx), redlatch.ErrLost)
		if lost, released := seen.one(t, redlatch.EventLost), seen.one(t, redlatch.EventReleased); lost.Loss != redlatch.LossGone || released.Loss != "" {
			t.Errorf("%+v\n%+v", lost, released)
		}
	})
}

// Goal: an owner that takes both sides of a lock is told of each side, and has waited only once.
func TestEventsOfAReentryNameItsOwnSide(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		far := check.Must(s.Other(redlatch.Config{}).RWMutex("job").Lock(s.Limited()))
		ctx, job := s.Client.WithOwner(s.Limited()), s.Client.RWMutex("job")
		_, err := job.TryRLock(ctx)
		check.Is(t, "TryRLock", err, redlatch.ErrNotAcquired)
		if e := seen.one(t, redlatch.EventNotAcquired); e.LockKind != redlatch.KindRead {
			t.Errorf("%+v", e)
		}
		time.AfterFunc(time.Second, func() { _ = far.Unlock(s.Limited()) })
		check.Must(job.Lock(ctx))
		inner := check.Must(job.RLock(ctx))
		if err := inner.Unlock(ctx); err != nil {
			t.Error(err)
		}
		if e := seen.one(t, redlatch.EventReleased); e.LockKind != redlatch.KindRead {
			t.Errorf("%+v", e)
		}
		all := seen.of(redlatch.EventAcquired)
		if write, read := all[0], all[1]; write.LockKind != redlatch.KindWrite || write.Holder == "" || read.LockKind != redlatch.KindRead || read.Holder != "" {
			t.Errorf("%+v", all)
		}
	})
}

// Goal: an observer that hangs in the client's goroutine delays no renewal and takes a bounded memory.
// Method: it hangs for 5,000 renewals.
func TestAHangingObserverDelaysNoRenewal(t *testing.T) {
	seen, hang := &eventLog{}, make(chan struct{})
	stage.Story(t, redlatch.Config{LeaseTime: 300 * time.Millisecond, Observer: fixture.Observer(func(ctx context.Context, e redlatch.Event) {
		if seen.Observe(ctx, e); e.Kind == redlatch.EventRenewed {
			<-hang
		}
	})}, func(t *testing.T, s *stage.Stage) {
		hang = make(chan struct{}) // of this bubble
		hold := check.Must(s.Client.Mutex("job").Lock(s.Limited()))
		time.Sleep(5000 * 100 * time.Millisecond)
		if stats := s.Client.Stats(); !hold.Valid() || stats.Renewals < 4900 || stats.LateRenewals > 0 {
			t.Errorf("%v %+v", hold.Err(), stats)
		}
		close(hang)
		if told := len(seen.of(redlatch.EventRenewed)); told < 900 || told > 1100 {
			t.Errorf("of all renewals %d were told", told)
		}
	})
}

// Goal: an event tells of each end of a hold: without Redis, and by Close.
func TestEventsTellOfDetachAndClose(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		detached := check.Must(s.Client.Mutex("a").Lock(s.Limited()))
		cohort := check.Must(s.Client.Mutex("b").Lock(s.Limited(), redlatch.WithCohort(time.Second)))
		closed := check.Must(s.Client.RWMutex("c").RLock(s.Limited()))
		detached.Detach()
		detached.Detach()
		cohort.Detach()
		if all := seen.of(redlatch.EventDetached); len(all) != 2 || all[0].Lock != "a" || all[1].Lock != "b" || all[0].Owner != detached.Owner() {
			t.Errorf("%+v", all)
		}
		if err := s.Client.Close(s.Limited()); err != nil {
			t.Error(err)
		}
		if e := seen.one(t, redlatch.EventClosed); e.Lock != "c" || e.Owner != closed.Owner() || e.LockKind != redlatch.KindRead || e.Err != nil {
			t.Errorf("%+v", e)
		}
		if more := append(seen.of(redlatch.EventReleased), seen.of(redlatch.EventLost)...); len(more) > 0 {
			t.Errorf("%+v", more)
		}
	})
}

// Goal: whoever forces a lock is told that it was held.
func TestEventsTellOfForcedUnlocks(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
		other := check.Must(s.Other(redlatch.Config{}).FairMutex("job").Lock(s.Limited()))
		job := s.Client.FairMutex("job")
		check.Must(job.ForceUnlockIf(s.Limited(), "nobody"))
		check.Must(job.ForceUnlockIf(s.Limited(), other.Owner()))
		check.Must(job.ForceUnlock(s.Limited()))
		if e := seen.one(t, redlatch.EventForced); e.Lock != "job" || e.LockKind != redlatch.KindFair || e.Owner != other.Owner() {
			t.Errorf("%+v", e)
		}
	})
}

// Goal: who has waited, in vain or not, is told for whom, wherever the holder is.
func TestEventsOfWaitsNameTheHolder(t *testing.T) {
	for name, opts := range map[string][]redlatch.LockOption{"alone": nil, "in a cohort": {redlatch.WithCohort(time.Hour)}} {
		t.Run(name, func(t *testing.T) {
			seen := &eventLog{}
			stage.Story(t, redlatch.Config{Observer: seen}, func(t *testing.T, s *stage.Stage) {
				far := check.Must(s.Other(redlatch.Config{}).Mutex("job").Lock(s.Limited()))
				job := s.Client.Mutex("job")
				if name == "alone" {
					_, err := job.TryLock(s.Limited(), opts...)
					check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
					if e := seen.one(t, redlatch.EventNotAcquired); e.Holder != far.Owner() || e.Owner != "" {
						t.Errorf("it was refused because of %s: %+v", far.Owner(), e)
					}
				}
				holders, next := []string{far.Owner()}, make(chan *redlatch.Hold, 3)
				for range 3 { // they come one after another, and only the first one asks Redis
					go func() { next <- check.Must(job.Lock(s.Limited(), opts...)) }()
					time.Sleep(time.Second)
				}
				release := far.Unlock
				for range 3 {
					if err := release(s.Limited()); err != nil {
						t.Error(err)
					}
					hold := <-next
					holders, release = append(holders, hold.Owner()), hold.Unlock
				}
				if err := release(s.Limited()); err != nil {
					t.Error(err)
				}
				check.Must(job.TryLock(s.Limited(), opts...))
				for i, e := range seen.of(redlatch.EventAcquired) {
					want := ""
					if i < 3 {
						want = holders[i]
					}
					if e.Holder != want {
						t.Errorf("acquisition %d has waited for %q, want %q", i, e.Holder, want)
					}
				}
			})
		})
	}
}

// Goal: if Redis no longer has a hold, Close tells the observer the same as Unlock would. It returns nil, because no lock
// stays. Method: the lock is deleted, taken by a stranger, or replaced by something else, before the client notices.
func TestEventsOfCloseTellOfALoss(t *testing.T) {
	for what, loses := range map[string]func(s *stage.Stage){
		"deleted": func(s *stage.Stage) { s.Memory.Miniredis().Del("job") },
		"taken": func(s *stage.Stage) {
			s.Memory.Miniredis().Del("job")
			s.Memory.Miniredis().HSet("job", "somebody:1", "1")
		},
		"replaced": func(s *stage.Stage) { s.Memory.Miniredis().Del("job"); _ = s.Memory.Miniredis().Set("job", "1") },
	} {
		for how, tell := range map[string]func(*testing.T, redlatch.Config, func(*testing.T, *stage.Stage)){"": stage.Story, " beside a watchdog": stage.Protected} {
			t.Run(what+how, func(t *testing.T) {
				var events [2]redlatch.Event
				for i, kind := range []redlatch.EventKind{redlatch.EventReleased, redlatch.EventClosed} {
					seen := &eventLog{}
					tell(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
						c := s.Other(redlatch.Config{Observer: seen, Protect: how != ""})
						h := check.Must(c.Mutex("job").Lock(s.Limited()))
						loses(s)
						if kind == redlatch.EventReleased {
							_ = h.Unlock(s.Limited())
						}
						check.Is(t, "Close", c.Close(s.Limited()), nil)
						check.Is(t, "Err", h.Err(), redlatch.ErrReleased)
						events[i] = seen.one(t, kind)
					})
				}
				released, closed := events[0], events[1]
				if closed.Loss != released.Loss || fmt.Sprint(closed.Err) != fmt.Sprint(released.Err) || closed.Err == nil {
					t.Errorf("Close tells of %v %v, and Unlock of %v %v", closed.Loss, closed.Err, released.Loss, released.Err)
				}
			})
		}
	}
}

// Goal: Close tells of no loss of a hold that was released well. Method: a cohort has kept the lock after that, and it
// is deleted.
func TestCloseTellsOfNoLossOfAReleasedHold(t *testing.T) {
	seen := &eventLog{}
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		c := s.Other(redlatch.Config{Observer: seen})
		h := check.Must(c.Mutex("job").Lock(s.Limited(), redlatch.WithCohort(time.Minute)))
		check.Is(t, "Unlock", h.Unlock(s.Limited()), nil)
		s.Memory.Miniredis().Del("job")
		check.Is(t, "Close", c.Close(s.Limited()), nil)
		seen.one(t, redlatch.EventReleased)
		if e := seen.one(t, redlatch.EventClosed); e.Loss != "" || e.Err != nil { // of what the cohort had kept
			t.Errorf("%+v", e)
		}
	})
}
