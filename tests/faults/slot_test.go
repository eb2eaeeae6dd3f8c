package faults_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a wait goes on to its own end while a slot of the cluster is open, whatever the command timeout is.
// Method: the server answers like one of two that share the slot, from the first request or from a later one,
// and after twenty seconds no more.
func TestAWaitOutlastsASlotThatIsOpen(t *testing.T) {
	for _, answer := range []string{
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"ERR Script attempted to access a non local key in a cluster node script: on @user_script:1.",
	} {
		stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
			for _, later := range []bool{false, true} {
				net, held := s.Tap(), check.Must(k.Rival(s.Stranger(), "job").Lock(s.Limited()))
				if !later {
					_ = held.Unlock(s.Limited())
					net.Set(stage.Refusing(answer, stage.Changing))
				}
				began, entered := time.Now(), make(chan error, 1)
				go func() {
					h, err := k.Lock(s.Client, "job").Lock(s.Limited(), redlatch.WithWait(time.Minute))
					if err == nil {
						err = h.Unlock(s.Limited())
					}
					entered <- err
				}()
				time.Sleep(2 * time.Second)
				net.Set(stage.Refusing(answer, stage.Changing))
				time.Sleep(18 * time.Second)
				net.Set(nil)
				if later {
					_ = held.Unlock(s.Limited())
				}
				check.Is(t, "Lock", <-entered, nil)
				check.Within(t, "the wait", time.Since(began), 20*time.Second, 30*time.Second)

				net.Set(stage.Refusing(answer, stage.Changing))
				began = time.Now()
				_, err := k.Lock(s.Client, "job").TryLock(s.Limited())
				refused, is := errors.AsType[*driver.ServerError](err)
				if !is || refused.Code() != strings.Fields(answer)[0] {
					t.Error("TryLock:", err)
				}
				check.Within(t, "TryLock", time.Since(began), 0, 5*time.Second)
				net.Set(nil)
			}
		})
	}
}
