package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// late delays each command of a site, and notes when it was sent.
func (s *site) late(by time.Duration) (sent func() []time.Time) {
	var mu sync.Mutex
	var moments []time.Time
	s.Spoil(func(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
		mu.Lock()
		moments = append(moments, time.Now())
		mu.Unlock()
		time.Sleep(by)
		return send()
	})
	return func() []time.Time {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(moments)
	}
}

func (s *stage) lockMajority(ctx context.Context, whole lock.Options) (*lock.Hold, error) {
	return LockMajority(ctx, s.set(), same(whole, len(s.sites)))
}

func (s *stage) lockAll(ctx context.Context, whole lock.Options) (*lock.Hold, error) {
	return LockAll(ctx, s.set(), same(whole, len(s.sites)))
}

// teach has the servers know the scripts: an unknown one is sent twice.
func (s *stage) teach() {
	s.Helper()
	h, err := s.lockAll(s.limited(), lock.Options{Lease: lease})
	if err != nil {
		s.Fatal(err)
	}
	s.unlock(h)
}

// await waits until a hold has ended, without asking it.
func (s *stage) await(h *lock.Hold) {
	s.Helper()
	select {
	case <-h.Done():
	case <-s.limited().Done():
		s.Fatal("the hold has not ended")
	}
}

// unlock releases a hold, which then is held nowhere.
func (s *stage) unlock(h *lock.Hold) {
	s.Helper()
	if err := h.Unlock(s.limited()); err != nil {
		s.Error(err)
	}
	synctest.Wait()
	if where := s.held("job"); where != "" {
		s.Error("it is still held on", where)
	}
}

// A Multi ends with its first member that is lost. The others are renewed no more, and run out.
func TestALostMemberEndsTheGroupAndItsRenewals(t *testing.T) {
	t.Parallel()
	story(t, 2, func(s *stage) {
		h, err := s.lockAll(s.limited(), lock.Options{Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(renewal + time.Second)
		s.sites[0].Miniredis().Del("job")
		lost := time.Now()
		s.await(h)
		if took := time.Since(lost); took > renewal || !errors.Is(h.Err(), lockerr.ErrLost) {
			t.Errorf("it ended %v later with %v", took, h.Err())
		}
		time.Sleep(lease + time.Second)
		if where := s.held("job"); where != "" {
			t.Errorf("%s is still held", where)
		}
		if err := h.Unlock(s.limited()); !errors.Is(err, lockerr.ErrLost) {
			t.Errorf("Unlock: %v", err)
		}
	})
}

// Goal: a missing member is asked for soon at first, and then with growing pauses, in the end about once an
// interval of renewals; one that comes back begins anew. Method: its server refuses to answer for a minute.
func TestTheRhythmOfRestoring(t *testing.T) {
	t.Parallel()
	story(t, 3, func(s *stage) {
		third := s.sites[2]
		var asked []time.Time
		until := time.Now().Add(time.Minute)
		third.Spoil(func(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
			if time.Now().After(until) {
				return send()
			}
			asked = append(asked, time.Now())
			return driver.Reply{Err: &driver.ServerError{Message: "NOPERM not now"}}
		})
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		g := s.groupOf()
		time.Sleep(59 * time.Second)
		synctest.Wait()
		pauses := []time.Duration{}
		for i := range asked[1:] {
			pauses = append(pauses, asked[i+1].Sub(asked[i]))
		}
		want := firstRestore
		for i, d := range pauses {
			if d > want || d < want/2 {
				t.Errorf("pause %d is %v, want %v, up to half shorter", i, d, want)
			}
			want = min(2*want, longestRestore(renewal))
		}
		if len(pauses) < 10 || len(h.Members()) != 2 {
			t.Errorf("%d pauses, %d members", len(pauses), len(h.Members()))
		}
		time.Sleep(longestRestore(renewal) + time.Second)
		if len(h.Members()) != 3 {
			t.Errorf("%d members after the other has gone", len(h.Members()))
		}
		third.Miniredis().Del("job") // the renewal finds that out
		time.Sleep(renewal + time.Second)
		g.mu.Lock()
		pause := g.backoff.Next()
		g.mu.Unlock()
		if len(h.Members()) != 3 || pause > 10*firstRestore {
			t.Errorf("%d members after a loss, and the next pause is %v", len(h.Members()), pause)
		}
		third.Spoil(nil)
		s.unlock(h)
	})
}

// groupOf is the group that the servers are part of.
func (s *stage) groupOf() (found *group) {
	s.sites[0].quorums.Range(func(g, _ any) bool {
		found = g.(*group)
		return false
	})
	return found
}

// The end of a hold whose place another one has taken does not end that one.
func TestTheEndOfAFormerHoldIsNoNews(t *testing.T) {
	t.Parallel()
	story(t, 3, func(s *stage) {
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		synctest.Wait()
		g := s.groupOf()
		former := h.Members()[0]
		s.sites[0].late(time.Second)
		g.mu.Lock()
		i := slices.IndexFunc(g.entries, func(e entry) bool { return e.hold == former })
		g.entries[i].state = missing
		g.mu.Unlock()
		g.restore()
		g.MemberEnded(former, lockerr.ErrLost)
		g.mu.Lock()
		if g.entries[i].state != asked || g.hold.Ended() != nil {
			t.Errorf("state %v, ended with %v", g.entries[i].state, g.hold.Ended())
		}
		g.mu.Unlock()
		s.sites[0].Spoil(nil)
		former.Detach()
		time.Sleep(2 * time.Second)
		_ = h.Unlock(s.limited())
		time.Sleep(lease)
	})
}

// Goal: between votes a quorum stands in the queues of those who refused, until the end of its wait at the
// latest, and votes again at once only if nobody is known to hold one. Method: what is known of three members.
func TestWhatAQuorumWaitsFor(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no answer")
	for name, c := range map[string]struct {
		foreign string // the servers on which another holds the lock
		why     error  // of those that are missing otherwise
		young   time.Duration
		granted bool // the third
		stands  [3]bool
		split   bool
		atOnce  bool
	}{
		"all are held":           {"abc", nil, 0, false, [3]bool{true, true, true}, false, false},
		"one is held":            {"a", wrong, 0, false, [3]bool{true, false, false}, false, false},
		"nobody answers":         {"", wrong, 0, false, [3]bool{}, true, true},
		"the votes were split":   {"ab", nil, 0, true, [3]bool{true, true, false}, true, false},
		"one was restarted":      {"ab", wrong, 2 * time.Second, false, [3]bool{true, true, false}, false, false},
		"one alone is restarted": {"", wrong, 2 * time.Second, false, [3]bool{}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, 3, func(s *stage) {
				o := s.quorum(lock.Options{Lease: lease, Wait: 10 * time.Second})
				g := o.group(s.Context(), s.limited())
				limited, cancel := o.limit(s.limited())
				defer cancel()
				for i, at := range s.sites {
					g.entries[i] = entry{state: missing, why: c.why}
					if slices.Contains([]byte(c.foreign), byte('a'+i)) {
						at.take(t, "job", 8*time.Second)
						_, g.entries[i].why = at.of("job").Ref.Acquire(s.limited(), at.Locks.Plain(0))
					}
				}
				if c.young > 0 {
					g.entries[2] = entry{state: missing, quarantine: c.young}
				}
				if c.granted {
					g.entries[2].hold = heldFor(lease)
				}
				l := newLookout(o)
				until, split := l.join(limited, g)
				for i, w := range l.waiters {
					if (w != nil) != c.stands[i] {
						t.Errorf("it stands in the queue of member %d: %v", i, w != nil)
					}
					if w != nil && !w.Deadline.Equal(o.until) {
						t.Errorf("its last look at member %d is at %v, the wait ends at %v", i, w.Deadline, o.until)
					}
				}
				if split != c.split || !until.After(time.Now()) != c.atOnce {
					t.Errorf("split %v, until %v from now", split, time.Until(until))
				}
				if c.young > 0 && time.Until(until) != c.young {
					t.Errorf("it votes again after %v, and the server counts after %v", time.Until(until), c.young)
				}
				l.leave(false)
				for _, at := range s.sites {
					if n := at.Locks.Queues().Waiting(); n > 0 {
						t.Errorf("%d waiters are left on %s", n, at.Address)
					}
				}
				g.entries[2].hold = nil
				_ = g.close()
			})
		})
	}
}

// Goal: the error of a vote that was ended tells of no release. Method: two servers cannot be reached, and one has granted
// its lock and not said yet since when it is up. Then the caller cancels, or its wait is over. That happens often:
// sometimes the vote learns of it before the group does.
func TestAVoteThatWasEndedTellsOfNoRelease(t *testing.T) {
	t.Parallel()
	why := errors.New("the order was taken back")
	for wait, want := range map[time.Duration]error{time.Minute: why, 5 * time.Millisecond: driver.ErrNoConnection} {
		story(t, 3, func(s *stage) {
			for _, at := range s.sites[:2] {
				at.Spoil(func(ctx context.Context, _ []string, _ func() driver.Reply) driver.Reply {
					<-ctx.Done()
					return driver.Reply{Err: fmt.Errorf("%w: %w", driver.ErrNotSent, driver.ErrNoConnection)}
				})
			}
			s.sites[2].tells = time.Second
			for range 200 {
				ctx, cancel := context.WithCancelCause(s.limited())
				end := time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
				h, err := s.lockMajority(ctx, lock.Options{Lease: lease, Wait: wait})
				if h != nil || !errors.Is(err, want) || errors.Is(err, lockerr.ErrReleased) || errors.Is(err, context.Canceled) != (ctx.Err() != nil) {
					t.Fatalf("it is held, or %v", err)
				}
				end.Stop()
				cancel(nil)
				time.Sleep(lease)
			}
		})
	}
}

// Goal: the error of a server that has not answered tells of no refusal by another one. Method: one of two refuses, and the
// other one answers neither the request nor its release.
func TestARefusalIsOnlyThatOfItsServer(t *testing.T) {
	t.Parallel()
	story(t, 2, func(s *stage) {
		s.sites[1].take(t, "job", lease)
		s.sites[0].Spoil(func(ctx context.Context, _ []string, _ func() driver.Reply) driver.Reply {
			<-ctx.Done()
			return driver.Reply{Err: ctx.Err()}
		})
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
		if h != nil || !errors.Is(err, lockerr.ErrUnknownOutcome) || errors.Is(err, lockerr.ErrNotAcquired) || strings.Contains(err.Error(), "%!") {
			t.Errorf("it is held, or %v", err)
		}
	})
}

// Goal: a server that has granted its lock, and is asked when the vote is decided, has not failed: the quorum goes on
// waiting. Method: half of the servers refuse until a lease ends, or one refuses and one reports an error for as long.
func TestAServerThatIsStillAskedHasNotFailed(t *testing.T) {
	t.Parallel()
	const left = 3 * time.Second
	for servers, failing := range map[int]bool{2: false, 3: true, 4: false} {
		story(t, servers, func(s *stage) {
			began := time.Now()
			for i, at := range s.sites {
				at.tells = 5 * time.Millisecond
				if i >= servers-servers/2 {
					at.take(t, "job", left)
				}
			}
			if failing {
				s.sites[0].Spoil(func(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
					if time.Since(began) < left {
						return driver.Reply{Err: &driver.ServerError{Message: "MISCONF the disk is full"}}
					}
					return send()
				})
			}
			h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease, Wait: time.Minute})
			if err != nil {
				s.Fatalf("%d servers, after %v: %v", servers, time.Since(began), err)
			}
			if took := time.Since(began); took > left+100*time.Millisecond {
				t.Errorf("%d servers: it is held after %v", servers, took)
			}
			_ = h.Unlock(s.limited())
		})
	}
}
