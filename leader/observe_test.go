package leader_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/leader"
	"github.com/redlatch/redlatch/redlatchtest"
)

// seen is one thing that an observer was told.
type seen struct {
	leader.Leader
	err error
	at  time.Time
}

// observe returns what an observer sees until the test ends.
func observe(t *testing.T, l leader.Observed, interval time.Duration) <-chan seen {
	all := make(chan seen, 1000)
	ctx, stop := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() {
		for now, err := range leader.Observe(ctx, l, interval) {
			all <- seen{now, err, time.Now()}
		}
	})
	t.Cleanup(func() { stop(); loop.Wait() })
	return all
}

// etcd: Observe never says that nobody leads (a leader that is gone stays named for ever), and misses
// changes during a disconnect (#18163). Here it says both, an outage included.
func TestAnObserverSeesEveryChange(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		watching := observe(t, s.Client(redlatch.Config{}).Mutex("leader"), time.Second)
		if got := next(t, "the first answer", watching); got.Leader != (leader.Leader{}) || got.err != nil {
			t.Errorf("nobody leads, and the observer saw %+v", got)
		}
		first := newCandidate(s, redlatch.Config{Name: "first"}).stand(t)
		hold := next(t, "the first leads", first.started)
		want := leader.Leader{Owner: hold.Owner(), Name: "first", Term: hold.Token()}
		if got := next(t, "a change", watching); got.Leader != want && got.Name != "" {
			t.Errorf("the observer saw %+v, want %+v", got, want)
		}
		time.Sleep(10 * time.Minute) // without a change
		if len(watching) > 0 {
			t.Errorf("the observer saw a change: %+v", next(t, "it", watching))
		}
		first.stop()
		stopped := time.Now()
		if got := next(t, "a change", watching); got.Leader != (leader.Leader{}) || got.at.Sub(stopped) > time.Second {
			t.Errorf("nobody leads, and the observer saw %+v after %v", got, got.at.Sub(stopped))
		}
		second := newCandidate(s, redlatch.Config{})
		thaw := s.Freeze()
		if got := next(t, "an error", watching); got.err == nil {
			t.Errorf("the server does not answer, and the observer saw %+v", got)
		}
		thaw()
		second.stand(t)
		hold = next(t, "the second leads", second.started)
		for got := next(t, "a change", watching); got.Owner != hold.Owner() || got.Term != hold.Token(); {
			got = next(t, "a change", watching)
		}
	})
}

// Goal: an observer hears of each failed request, and after it how things are, changed or not. A peer in
// Java that leads again has the same owner: the term tells.
func TestAnObserverHearsOfErrorsAndTerms(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		const owner = "d3b07384-d9a0-4c9b-8f5a-2f5d0c7e8b13:1"
		empty := observe(t, s.Client(redlatch.Config{}).Mutex("nobody"), time.Second)
		next(t, "the first answer", empty)
		s.Miniredis().HSet("leader", owner, "1")
		s.Miniredis().SetTTL("leader", 24*time.Hour)
		_ = s.Miniredis().Set(protocol.TokenKey("leader"), "7")
		watching := observe(t, s.Client(redlatch.Config{}).Mutex("leader"), time.Second)
		if got := next(t, "the first answer", watching); got.Leader != (leader.Leader{Owner: owner, Term: 7}) {
			t.Errorf("the observer saw %+v", got)
		}
		allow := s.Deny("EVALSHA", "EVAL")
		for range 3 {
			if got := next(t, "an error", watching); got.err == nil {
				t.Errorf("the observer saw %+v", got)
			}
			if got := next(t, "an error", empty); got.err == nil {
				t.Errorf("the observer of nobody saw %+v", got)
			}
		}
		allow()
		if got := next(t, "the same again", empty); got.Leader != (leader.Leader{}) || got.err != nil {
			t.Errorf("the observer of nobody saw %+v", got)
		}
		if got := next(t, "the same again", watching); got.Term != 7 {
			t.Errorf("the observer saw %+v", got)
		}
		_ = s.Miniredis().Set(protocol.TokenKey("leader"), "8")
		if got := next(t, "the next term", watching); got.Leader != (leader.Leader{Owner: owner, Term: 8}) {
			t.Errorf("the observer saw %+v", got)
		}
	})
}

func TestAnObserverCanLeave(t *testing.T) {
	bubble(t, func(t *testing.T, s *redlatchtest.Server) {
		client := s.Client(redlatch.Config{})
		if _, err := client.RWMutex("leader").RLock(t.Context()); err != nil {
			t.Fatal(err)
		}
		for now, err := range leader.Observe(t.Context(), client.RWMutex("leader"), 0) {
			if now != (leader.Leader{}) || err != nil {
				t.Errorf("readers do not lead, and the observer saw %+v, %v", now, err)
			}
			break
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for now, err := range leader.Observe(over, client.Mutex("leader"), 0) {
			t.Errorf("the context has ended, and the observer saw %+v, %v", now, err)
		}
	})
}

func TestAnObserverOfNothingHearsOfIt(t *testing.T) {
	for _, l := range []leader.Observed{nil, (*redlatch.Mutex)(nil)} {
		heard := 0
		for now, err := range leader.Observe(t.Context(), l, time.Second) {
			wrong, is := errors.AsType[*redlatch.ConfigError](err)
			if heard++; !is || wrong.Field != "lock" || now != (leader.Leader{}) {
				t.Errorf("%T: got %v, %v", l, now, err)
			}
		}
		if heard != 1 {
			t.Errorf("%T: heard %d times", l, heard)
		}
	}
}
