package faults_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
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
	all := append([]stage.Kind{{Name: "multi", Lock: stage.MultiOf, Rival: stage.MultiOf}, stage.PermitKind}, stage.LockKinds...)
	for _, k := range all {
		t.Run(k.Name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				net, l := s.Tap(), k.Lock(s.Client, "job")
				for _, answer := range refusals {
					code, _, _ := strings.Cut(answer, " ")
					net.Set(stage.Refusing(answer, stage.Changing))
					for what, lock := range verbsOf(s.Limited(), l) {
						_, err := lock()
						wantServersError(t, what, err, code)
						if errors.Is(err, redlatch.ErrNotAcquired) {
							t.Errorf("%s is %v, and nobody was seen to hold the lock", what, err)
						}
					}
					net.Set(nil)
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
	stage.EachWay(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		net := s.Tap()
		for _, answer := range refusals {
			code, _, _ := strings.Cut(answer, " ")
			h := check.Must(k.Rival(s.Stranger(), "job").Lock(s.Limited()))
			got := make(chan error, 1)
			go func() {
				_, err := k.Lock(s.Client, "job").Lock(s.Limited(), redlatch.WithWait(20*time.Second))
				got <- err
			}()
			time.Sleep(17500 * time.Millisecond)
			net.Set(stage.Refusing(answer, stage.Changing))
			if err := h.Unlock(s.Limited()); err != nil { // it is told, and asks
				t.Fatal(err)
			}
			wantServersError(t, "Lock", <-got, code)
			net.Set(nil)
		}
	})
}
