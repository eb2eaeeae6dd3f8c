package redlatch_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// Hostile reading A: red tests.

// An outer hold is renewed for as long as it is held, whatever its owner takes inside it.
// Broken: each confirmed re-entry sets Term.Asked, from which the next renewal is counted,
// although a request with a shorter lease has extended nothing.
func TestHostAReentryWithAShortLeaseDoesNotPutOffTheRenewal(t *testing.T) {
	for _, tt := range []struct {
		name  string
		cfg   redlatch.Config
		inner []time.Duration // when the owner re-enters
		opts  []redlatch.LockOption
		outer []redlatch.LockOption
		soon  time.Duration // so long it has to live
	}{
		{"default settings, two re-entries", redlatch.Config{}, []time.Duration{9900 * time.Millisecond, 19800 * time.Millisecond},
			[]redlatch.LockOption{redlatch.WithLease(time.Second)}, nil, 2 * time.Minute},
		{"renewal every half lease, one re-entry", redlatch.Config{RenewInterval: 15 * time.Second}, []time.Duration{14900 * time.Millisecond},
			[]redlatch.LockOption{redlatch.WithLease(time.Second)}, nil, 2 * time.Minute},
		{"the outer one has an end", redlatch.Config{RenewInterval: 15 * time.Second}, []time.Duration{10500 * time.Millisecond},
			[]redlatch.LockOption{redlatch.WithLease(time.Second), redlatch.WithMaxHold(5 * time.Second)},
			[]redlatch.LockOption{redlatch.WithMaxHold(40 * time.Second)}, 39 * time.Second},
	} {
		for _, k := range lockKinds {
			t.Run(tt.name+"/"+k.name, func(t *testing.T) {
				story(t, tt.cfg, func(t *testing.T, s *stage) {
					ctx, l := s.client.WithOwner(s.limited()), k.lock(s.client, "job")
					began := time.Now()
					outer := must(l.Lock(ctx, tt.outer...))
					for _, at := range tt.inner {
						time.Sleep(at - time.Since(began))
						if _, err := l.Lock(ctx, tt.opts...); err != nil {
							t.Fatal(err)
						}
					}
					for time.Since(began) < tt.soon && outer.Err() == nil {
						time.Sleep(100 * time.Millisecond)
					}
					if err := outer.Err(); err != nil {
						_, err2 := k.rival(s.stranger(), "job").Lock(s.limited(), redlatch.WithWait(2*time.Second))
						t.Errorf("nothing failed, and the outer hold ended after %v: %v (renewals: %d); a stranger then: %v", time.Since(began), err, s.client.Stats().Renewals, err2)
					}
				})
			})
		}
	}
}

// Config.ReleaseTimeout bounds Unlock.
func TestHostAUnlockIsBoundedByReleaseTimeoutWhileTheOwnerReenters(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.teach(lockKinds[0])
		net := s.tap()
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		h := must(m.Lock(ctx))
		net.set(func(commands []driver.Command, _ sender) []driver.Reply { // frozen server
			time.Sleep(3 * time.Second)
			return failAll(commands, errCut)
		})
		go func() { _, _ = m.Lock(ctx) }()
		synctest.Wait()
		began := time.Now()
		err := h.Unlock(ctx)
		if took := time.Since(began); took > 3*time.Second+200*time.Millisecond {
			t.Errorf("Unlock blocked for %v (%v); ReleaseTimeout is 3s", took, err)
		}
		net.set(nil)
		time.Sleep(10 * time.Second)
	})
}

// A local waiter looks when a local release has been answered, messages or not.
func TestHostAARepeatedReleaseOfAReaderWakesTheLocalWriter(t *testing.T) {
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprintf("reply lost %v", lose), func(t *testing.T) {
			story(t, redlatch.Config{PollCap: time.Minute}, func(t *testing.T, s *stage) {
				s.teach(lockKinds[3])
				net := s.tap()
				net.deaf.Store(true) // the same cut took the message
				m := s.client.RWMutex("job")
				r := must(m.RLock(s.limited()))
				got := make(chan *redlatch.Hold, 1)
				go func() { got <- must(m.Lock(s.limited())) }()
				time.Sleep(time.Second)
				if lose {
					var n atomic.Int64
					net.set(func(commands []driver.Command, send sender) []driver.Reply {
						replies := send(commands...)
						if n.Add(1) == 1 {
							return failAll(commands, errCut)
						}
						return replies
					})
				}
				if err := r.Unlock(s.limited()); err != nil {
					t.Fatal(err)
				}
				free := time.Now()
				w := <-got
				if took := time.Since(free); took > time.Second {
					t.Errorf("Unlock returned nil, the lock was free, and the next waiter of this process slept for %v", took)
				}
				_ = w.Unlock(s.limited())
			})
		})
	}
}

// Unlock tells of a hold that was lost.
func TestHostAUnlockOfAForcedHoldWhoseReplyIsLost(t *testing.T) {
	for _, k := range lockKinds {
		for _, lose := range []bool{false, true} {
			t.Run(fmt.Sprint(k.name, " reply lost ", lose), func(t *testing.T) {
				story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
					s.teach(k)
					net := s.tap()
					h := must(k.lock(s.client, "job").Lock(s.limited()))
					x := s.stranger()
					var err error
					switch k.name {
					case "mutex", "fair":
						_, err = x.Mutex("job").ForceUnlock(s.limited())
					default:
						_, err = x.RWMutex("job").ForceUnlock(s.limited())
					}
					if err != nil {
						t.Fatal(err)
					}
					other := must(k.rival(x, "job").Lock(s.limited())) // it works, at the same time as h
					if lose {
						var n atomic.Int64
						net.set(func(commands []driver.Command, send sender) []driver.Reply {
							replies := send(commands...)
							if n.Add(1) == 1 {
								return failAll(commands, errCut)
							}
							return replies
						})
					}
					if err := h.Unlock(s.limited()); err == nil {
						t.Errorf("Unlock is nil though %s holds the lock since before", other.Owner())
					}
					net.set(nil)
					_ = other.Unlock(s.limited())
				})
			})
		}
	}
}

// Lock of a Multi waits for ever, nobody else is there: ErrNotAcquired would be a lie.
func TestHostAMultiWhoseGrantComesLate(t *testing.T) {
	for _, multi := range []bool{false, true} {
		t.Run(fmt.Sprintf("multi %v", multi), func(t *testing.T) {
			story(t, redlatch.Config{LeaseTime: 200 * time.Millisecond}, func(t *testing.T, s *stage) {
				net := s.tap()
				lock := func(a, b string) redlatch.Lock {
					if !multi {
						return s.client.Mutex(a)
					}
					return redlatch.NewMulti(s.client.Mutex(a), s.client.Mutex(b))
				}
				_ = must(lock("x", "y").Lock(s.limited())).Unlock(s.limited()) // the scripts are known
				var n atomic.Int64
				net.set(func(commands []driver.Command, send sender) []driver.Reply {
					replies := send(commands...)
					if n.Add(1) == 1 {
						time.Sleep(250 * time.Millisecond)
					}
					return replies
				})
				h, err := lock("a", "b").Lock(s.limited())
				if err != nil {
					t.Errorf("nobody holds anything, the context has not ended, one reply was slow, and Lock is %v (ErrNotAcquired: %v)", err, errors.Is(err, redlatch.ErrNotAcquired))
					return
				}
				_ = h.Unlock(s.limited())
			})
		})
	}
}

// An owner that holds a lock re-enters by TryLock, whatever its other goroutines do.
func TestHostATryLockOfTheOwnerThatHolds(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.teach(lockKinds[0])
		net := s.tap()
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		outer := must(m.Lock(ctx))
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			time.Sleep(10 * time.Millisecond)
			return send(commands...)
		})
		var failed atomic.Int64
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				h, err := m.TryLock(ctx)
				if errors.Is(err, redlatch.ErrNotAcquired) {
					failed.Add(1)
				} else if err == nil {
					_ = h.Unlock(ctx)
				}
			})
		}
		all.Wait()
		if n := failed.Load(); n > 0 {
			t.Errorf("%d of 10 goroutines of the holding owner were told ErrNotAcquired, outer valid: %v", n, outer.Valid())
		}
		_ = outer.Unlock(ctx)
	})
}

// Unlock is nil only for what was given back.
func TestHostAUnlockAfterACloseThatFailed(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		c := must(redlatch.New(s.driver, quiet(redlatch.Config{})))
		h := must(c.Mutex("job").Lock(s.limited()))
		s.driver.spoil(func([]string) fate { return isLost })
		closed := c.Close(s.limited())
		err := h.Unlock(s.limited())
		s.driver.spoil(nil)
		if closed == nil {
			t.Fatal("Close must fail here")
		}
		if status := must(s.stranger().Mutex("job").Status(s.limited())); status.Locked && err == nil {
			t.Errorf("Unlock is nil and Err is %v, and the lock stands for %v more", h.Err(), status.TTL)
		}
	})
}

// The text of an error tells no untruth about the holder.
func TestHostAAFairWaiterIsToldThatTheHolderNeverExpires(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.FairMutex("job")
		h := must(m.Lock(s.limited()))
		go func() { // the head of the queue
			if h, err := m.Lock(s.limited()); err == nil {
				_ = h.Unlock(s.limited())
			}
		}()
		time.Sleep(time.Second)
		_, err := m.Lock(s.limited(), redlatch.WithWait(time.Second))
		if err != nil && strings.Contains(err.Error(), "never expires") {
			t.Errorf("the lock has a TTL of %v, and the error is %v", s.ttl("job"), err)
		}
		_ = h.Unlock(s.limited())
		time.Sleep(time.Second)
	})
}
