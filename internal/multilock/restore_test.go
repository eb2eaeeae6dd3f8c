package multilock

import (
	"errors"
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
