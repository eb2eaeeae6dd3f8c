package multilock

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Goal: a member that another holds joins the quorum when that one releases it, so that it does not depend on
// the others for longer. Method: another client of the same server holds it, and releases it after a while.
func TestAMemberThatIsReleasedJoinsAtOnce(t *testing.T) {
	t.Parallel()
	story(t, 3, func(s *stage) {
		other := newManager(s.sites[2])
		ref := other.Mutex("job")
		theirs, err := ref.Acquire(s.limited(), &lock.Options{Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(2*lease + renewal/7) // between two polls
		if n := len(h.Members()); n != 2 {
			t.Fatalf("%d members", n)
		}
		if err := theirs.Unlock(s.limited()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for len(h.Members()) != 3 && time.Since(began) < lease {
			time.Sleep(time.Millisecond)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it joins after %v", took)
		}
		s.sites[0].Miniredis().Del("job")
		time.Sleep(renewal + time.Second)
		if h.Err() != nil || len(h.Members()) != 3 {
			t.Errorf("after the loss of another: %v, %d members", h.Err(), len(h.Members()))
		}
		s.unlock(h)
		synctest.Wait()
		if err := other.Close(s.limited()); err != nil {
			t.Error(err)
		}
	})
}

// Goal: a quorum that waited does not ask the server that refused it once more as soon as it is held: it listened
// there all the time. Method: others hold two members. One of them releases its own.
func TestAQuorumThatWaitedGoesOnListening(t *testing.T) {
	t.Parallel()
	story(t, 3, func(s *stage) {
		var theirs []*lock.Hold
		for _, at := range s.sites[1:] {
			other := newManager(at)
			defer func() { _ = other.Close(s.limited()) }()
			ref := other.Mutex("job")
			h, err := ref.Acquire(s.limited(), &lock.Options{Lease: lease})
			if err != nil {
				s.Fatal(err)
			}
			theirs = append(theirs, h)
		}
		release := time.AfterFunc(renewal/7, func() { _ = theirs[0].Unlock(s.limited()) })
		defer release.Stop()
		s.sites[0].late(time.Millisecond) // the refusal comes before the majority
		s.sites[1].late(time.Millisecond)
		sent := s.sites[2].late(0)
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease, Wait: time.Minute})
		if err != nil {
			s.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		if asked := slices.DeleteFunc(sent(), func(at time.Time) bool { return time.Since(at) > 50*time.Millisecond }); len(asked) != 1 {
			t.Errorf("%d requests for a member that another holds, besides that of the vote", len(asked)-1)
		}
		for _, at := range s.sites {
			at.Spoil(nil)
		}
		for _, h := range []*lock.Hold{theirs[1], h} {
			if err := h.Unlock(s.limited()); err != nil {
				s.Error(err)
			}
		}
		synctest.Wait()
	})
}

// Goal: a quorum that waited asks for a missing member when the lease of its holder ends, and so does whoever stood
// behind the quorum. Method: the holder of one member dies. The others release theirs before that, or the wait ends.
func TestAQuorumThatWaitedKnowsTheLeaseOfAMissingMember(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		opts   lock.Options
		behind bool
	}{
		"it joins the quorum":             {lock.Options{Lease: lease, Wait: time.Minute}, false},
		"it is for others":                {lock.Options{Lease: lease, Wait: time.Minute}, true},
		"the quorum does not look for it": {lock.Options{Lease: lease, Wait: time.Minute, Fixed: true}, true},
		"the quorum gave up":              {lock.Options{Lease: lease, Wait: 700 * time.Millisecond}, true},
	} {
		t.Run(what, func(t *testing.T) {
			story(t, 3, func(s *stage) {
				const left = 3 * time.Second
				other := newManager(s.sites[1])
				defer func() { _ = other.Close(s.limited()) }()
				ref, began := other.Mutex("job"), time.Now()
				theirs, err := ref.Acquire(s.limited(), &lock.Options{Lease: lease})
				if err != nil {
					s.Fatal(err)
				}
				s.sites[2].take(t, "job", left)
				s.sites[0].late(time.Millisecond) // the refusal comes before the majority
				s.sites[1].late(time.Millisecond)
				time.AfterFunc(left/3, func() { _ = theirs.Unlock(s.limited()) })
				mine := make(chan error, 1)
				time.AfterFunc(left/6, func() {
					if c.behind {
						ref := s.sites[2].Locks.Mutex("job")
						h, err := ref.Acquire(s.limited(), &lock.Options{Lease: lease, Wait: lease})
						if err == nil {
							err = h.Unlock(s.limited())
						}
						mine <- err
					}
				})
				h, err := s.lockMajority(s.limited(), c.opts)
				if got := h != nil; got != (c.opts.Wait == time.Minute) {
					s.Fatal(err)
				}
				for joined := false; !joined && len(mine) == 0 && time.Since(began) < lease; {
					time.Sleep(time.Millisecond)
					joined = !c.behind && len(h.Members()) == 3
				}
				if took := time.Since(began); took > left+100*time.Millisecond {
					t.Errorf("the lock was free after %v, and taken after %v", left, took)
				}
				for _, at := range s.sites {
					at.Spoil(nil)
				}
				if h != nil {
					_ = h.Unlock(s.limited())
				}
				if c.behind {
					if err := <-mine; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Goal: a server that forgets nothing has an identity all the same. Method: two names lead to one server.
func TestOneServerIsNoMajorityWithoutADelay(t *testing.T) {
	t.Parallel()
	story(t, 3, func(s *stage) {
		for _, at := range s.sites {
			at.Restart.Delay = -1
		}
		s.sites[1].run = s.sites[2].run
		s.sites[0].take(t, "job", lease)
		h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
		if h != nil || !errors.Is(err, lockerr.ErrNotAcquired) {
			t.Errorf("it is held, or %v", err)
		}
	})
}
