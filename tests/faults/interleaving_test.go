package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
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
		for _, k := range stage.LockKinds {
			t.Run(tt.name+"/"+k.Name, func(t *testing.T) {
				stage.Story(t, tt.cfg, func(t *testing.T, s *stage.Stage) {
					ctx, l := s.Client.WithOwner(s.Limited()), k.Lock(s.Client, "job")
					began := time.Now()
					outer := check.Must(l.Lock(ctx, tt.outer...))
					for _, at := range tt.inner {
						time.Sleep(at - time.Since(began))
						check.Must(l.Lock(ctx, tt.opts...))
					}
					for time.Since(began) < tt.soon && outer.Err() == nil {
						time.Sleep(100 * time.Millisecond)
					}
					if err := outer.Err(); err != nil {
						_, err2 := k.Rival(s.Stranger(), "job").Lock(s.Limited(), redlatch.WithWait(2*time.Second))
						t.Errorf("nothing failed, and the outer hold ended after %v: %v (renewals: %d); a stranger then: %v", time.Since(began), err, s.Client.Stats().Renewals, err2)
					}
				})
			})
		}
	}
}

// A local waiter looks when a local release has been answered, messages or not.
func TestARepeatedReleaseOfAReaderWakesTheLocalWriter(t *testing.T) {
	for _, lose := range []bool{false, true} {
		t.Run(fmt.Sprintf("reply lost %v", lose), func(t *testing.T) {
			stage.Story(t, redlatch.Config{PollCap: time.Minute}, func(t *testing.T, s *stage.Stage) {
				s.Teach(stage.LockKinds[3])
				net := s.Tap()
				net.Deaf.Store(true) // the same cut took the message
				m := s.Client.RWMutex("job")
				r := check.Must(m.RLock(s.Limited()))
				got := make(chan *redlatch.Hold, 1)
				go func() { got <- check.Must(m.Lock(s.Limited())) }()
				time.Sleep(time.Second)
				if lose {
					var n atomic.Int64
					net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
						replies := send(commands...)
						if n.Add(1) == 1 {
							return stage.FailAll(commands, stage.ErrCut)
						}
						return replies
					})
				}
				if err := r.Unlock(s.Limited()); err != nil {
					t.Fatal(err)
				}
				free := time.Now()
				w := <-got
				if took := time.Since(free); took > time.Second {
					t.Errorf("Unlock returned nil, the lock was free, and the next waiter of this process slept for %v", took)
				}
				_ = w.Unlock(s.Limited())
			})
		})
	}
}

// An owner that holds a lock re-enters by TryLock, whatever its other goroutines do.
func TestTryLockReentersWhateverTheOwnersOtherGoroutinesDo(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		s.Teach(stage.LockKinds[0])
		net := s.Tap()
		ctx, m := s.Client.WithOwner(s.Limited()), s.Client.Mutex("job")
		outer := check.Must(m.Lock(ctx))
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
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
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.FairMutex("job")
		h := check.Must(m.Lock(s.Limited()))
		go func() { // the head of the queue
			if h, err := m.Lock(s.Limited()); err == nil {
				_ = h.Unlock(s.Limited())
			}
		}()
		time.Sleep(time.Second)
		_, err := m.Lock(s.Limited(), redlatch.WithWait(time.Second))
		if err != nil && strings.Contains(err.Error(), "never expires") {
			t.Errorf("the lock has a TTL of %v, and the error is %v", s.TTL("job"), err)
		}
		_ = h.Unlock(s.Limited())
		time.Sleep(time.Second)
	})
}
