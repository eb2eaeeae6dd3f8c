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

// An outer hold is renewed for as long as it is held, whatever its owner takes inside it.
func TestAReentryWithAShortLeaseDoesNotPutOffTheRenewal(t *testing.T) {
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
func TestUnlockIsBoundedByReleaseTimeoutWhileTheOwnerReenters(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		s.teach(lockKinds[0])
		net := s.tap()
		ctx, m := s.client.WithOwner(s.limited()), s.client.Mutex("job")
		h := must(m.Lock(ctx))
		net.set(func(commands []driver.Command, _ sender) []driver.Reply { // frozen server
			time.Sleep(time.Second)
			return failAll(commands, errCut)
		})
		go func() { _, _ = m.Lock(ctx) }()
		synctest.Wait()
		began := time.Now()
		err := h.Unlock(ctx)
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("Unlock blocked for %v (%v); ReleaseTimeout is 3s", took, err)
		}
		net.set(nil)
		time.Sleep(10 * time.Second)
	})
}

// A local waiter looks when a local release has been answered, messages or not.
func TestARepeatedReleaseOfAReaderWakesTheLocalWriter(t *testing.T) {
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

// An owner that holds a lock re-enters by TryLock, whatever its other goroutines do.
func TestTryLockReentersWhateverTheOwnersOtherGoroutinesDo(t *testing.T) {
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

// The text of an error tells no untruth about the holder.
func TestAFairWaiterIsNotToldThatTheHolderNeverExpires(t *testing.T) {
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
