package redlatch_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What a wait is called that ended because the server refused.

// wantServersError fails unless an error has the server's own in its chain.
func wantServersError(t *testing.T, what string, err error, code string) {
	t.Helper()
	var refused *driver.ServerError
	if !errors.As(err, &refused) || refused.Code() != code {
		t.Errorf("%s is %v, want the server's error with the code %s", what, err, code)
	}
}

var refusals = []string{
	"READONLY You can't write against a read only replica.",
	"LOADING Redis is loading the dataset in memory",
	"CLUSTERDOWN The cluster is down",
	"TRYAGAIN Multiple keys request during rehashing of slot",
}

func TestAServerThatRefusesIsNotALockThatIsHeld(t *testing.T) {
	all := append([]lockKind{{name: "multi", lock: multiOf, rival: multiOf}, permitKind}, lockKinds...)
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				net, l := s.tap(), k.lock(s.client, "job")
				for _, answer := range refusals {
					code, _, _ := strings.Cut(answer, " ")
					net.set(refusing(answer, changing))
					for what, lock := range verbsOf(s.limited(), l) {
						_, err := lock()
						wantServersError(t, what, err, code)
						if errors.Is(err, redlatch.ErrNotAcquired) {
							t.Errorf("%s is %v, and nobody was seen to hold the lock", what, err)
						}
					}
					net.set(nil)
				}
			})
		})
	}
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
	eachWay(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		net := s.tap()
		for _, answer := range refusals {
			code, _, _ := strings.Cut(answer, " ")
			h := must(k.rival(s.stranger(), "job").Lock(s.limited()))
			got := make(chan error, 1)
			go func() {
				_, err := k.lock(s.client, "job").Lock(s.limited(), redlatch.WithWait(20*time.Second))
				got <- err
			}()
			time.Sleep(17500 * time.Millisecond)
			net.set(refusing(answer, changing))
			if err := h.Unlock(s.limited()); err != nil { // it is told, and asks
				t.Fatal(err)
			}
			wantServersError(t, "Lock", <-got, code)
			net.set(nil)
		}
	})
}
