package kinds_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Servers that refuse.

// wantServersError fails unless an error has the server's own in its chain.
func wantServersError(s *scene.Scene, what string, err error, code string) {
	s.Helper()
	if refused, is := errors.AsType[*driver.ServerError](err); !is || refused.Code() != code {
		s.Errorf("%s is %v, want the server's error with the code %s", what, err, code)
	}
	if code != "TRYAGAIN" && errors.Is(err, redlatch.ErrNotAcquired) { // which a wait outlasts
		s.Errorf("%s is %v, and the server refused", what, err)
	}
}

var refusals = []string{
	"READONLY You can't write against a read only replica.",
	"LOADING Redis is loading the dataset in memory",
	"CLUSTERDOWN The cluster is down",
	"TRYAGAIN Multiple keys request during rehashing of slot",
}

// The last ones do not answer at all.
func TestAServerThatRefusesIsNotALockThatIsHeld(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		for _, answer := range slices.Concat(refusals, []string{""}) {
			code, _, _ := strings.Cut(answer, " ")
			if s.Refuse(answer); answer == "" {
				s.Net(nil)
				s.Kill()
			}
			for what, lock := range verbsOf(s.Context(), s.Home.Lock) {
				_, err := lock()
				if answer != "" {
					wantServersError(s, what, err, code)
				}
				if err == nil || errors.Is(err, redlatch.ErrNotAcquired) {
					s.Errorf("%s is %v, and nobody was seen to hold the lock", what, err)
				}
			}
			s.Holds("after that")
			s.Net(nil)
		}
	})
}

// verbsOf are the ways to ask for a lock for a while.
func verbsOf(ctx context.Context, l redlatch.Lock) map[string]func() (*redlatch.Hold, error) {
	return map[string]func() (*redlatch.Hold, error){
		"Lock with a wait": func() (*redlatch.Hold, error) { return l.Lock(ctx, redlatch.WithWait(2*time.Second)) },
		"Lock with a context": func() (*redlatch.Hold, error) {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return l.Lock(short)
		},
		"TryLock": func() (*redlatch.Hold, error) { return l.TryLock(ctx) },
		"TryLock with a long wait": func() (*redlatch.Hold, error) {
			return l.TryLock(ctx, redlatch.WithWait(time.Minute))
		},
	}
}

// The wait began behind a holder that was seen, and ended with a server that refused.
func TestAWaitThatEndsWhileTheServerRefusesSaysSo(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		for _, answer := range refusals {
			code, _, _ := strings.Cut(answer, " ")
			other := s.Stranger()
			h := other.Block()
			got := make(chan error, 1)
			go func() { got <- check.ErrOf(s.Home.Lock.Lock(s.Context(), redlatch.WithWait(20*time.Second))) }()
			time.Sleep(17500 * time.Millisecond)
			s.Refuse(answer)
			other.Free(h.Hold) // whoever waits is told, and asks
			time.Sleep(2500 * time.Millisecond)
			wantServersError(s, "Lock", <-got, code)
			s.Net(nil)
		}
	})
}

// Goal: nobody is told that nothing was taken if something was. Method: the reply of a server to a request that
// takes the lock is lost, and its repetition is refused for good: the server is full, or its replicas are gone. What
// was taken is released at once, and does not stay for a lease, unless the release is refused, too.
func TestWhatWasTakenBeforeARefusalIsGivenBack(t *testing.T) {
	for name, forGood := range map[string]bool{"once": false, "for good": true} {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				s.Net(func() stage.Around {
					var n atomic.Int64
					refuses := func(c driver.Command) bool { return stage.Changing(c) && (forGood || n.Load() == 2) }
					refuse := stage.Refusing("NOREPLICAS Not enough good replicas to write.", refuses)
					return func(commands []driver.Command, send stage.Sender) []driver.Reply {
						if n.Add(1) == 1 {
							return unanswered(commands, send)
						}
						return refuse(commands, send)
					}
				})
				_, err := s.Home.Lock.TryLock(s.Context())
				wantServersError(s, "TryLock", err, "NOREPLICAS")
				unknown := errors.Is(err, redlatch.ErrUnknownOutcome)
				if unknown != forGood && !(unknown && s.Sort == scene.Majority) {
					s.Errorf("TryLock is %v, and Redis has %s", err, s.Redis())
				}
				if s.Net(nil); !forGood && s.Sort != scene.Majority { // whose lost vote may have had its release refused
					s.Holds("after TryLock")
				}
			})
		})
	}
}
