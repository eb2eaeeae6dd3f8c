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

// noWrites is what a server says to writes alone: its disk or its memory is full, or its replicas are gone.
var noWrites = []string{
	"MISCONF Errors writing to the AOF file: No space left on device",
	"NOREPLICAS Not enough good replicas to write.",
	"OOM command not allowed when used memory > 'maxmemory'.",
}

// Goal: what ends work outlasts a server that refuses for now, whatever it calls that.
func TestAnUnlockOutlastsAServerThatRefusesForNow(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		for _, answer := range slices.Concat(refusals, noWrites) {
			h := check.Must(s.Home.Lock.Lock(s.Context()))
			s.Refuse(answer)
			time.AfterFunc(2*time.Second, func() { s.Net(nil) })
			check.Is(s.T, answer, h.Unlock(s.Context()), nil)
			time.Sleep(4 * time.Second)
			s.Holds("after " + answer)
		}
	})
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
// was taken is released at once, and does not stay for a lease, unless the release is refused for long, too.
func TestWhatWasTakenBeforeARefusalIsGivenBack(t *testing.T) {
	for name, span := range map[string]time.Duration{"once": 0, "for a second": time.Second, "for good": time.Hour} {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
				began := time.Now()
				s.Net(func() stage.Around {
					var n atomic.Int64
					refuses := func(c driver.Command) bool { return stage.Changing(c) && (n.Load() == 2 || time.Since(began) < span) }
					refuse := stage.Refusing(noWrites[1], refuses)
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
				if unknown != (span > 0) && !(unknown && s.Sort == scene.Majority) {
					s.Errorf("TryLock is %v, and Redis has %s", err, s.Redis())
				}
				if span == time.Second {
					time.Sleep(2 * span)
				}
				if s.Net(nil); span < time.Hour {
					s.Holds("after TryLock")
				}
			})
		})
	}
}
