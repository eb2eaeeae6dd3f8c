package leases_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: whenever the process of a whole with an end is paused, no watchdog renews its locks beyond that. Method: requests that
// take a while. When Lock returns, nothing that is on record is without an end.
func TestNoMemberIsOnRecordWithoutTheEndOfItsWhole(t *testing.T) {
	for end, opt := range map[string]redlatch.LockOption{
		"maximum hold time": redlatch.WithMaxHold(time.Minute), "fixed lease": redlatch.WithLease(time.Minute),
	} {
		for side, of := range sides {
			t.Run(end+", "+side, func(t *testing.T) {
				stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
					check.Must(s.Client.Mutex("ready").Lock(t.Context()))
					synctest.Wait()
					s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
						time.Sleep(10 * time.Millisecond)
						return send(commands...)
					})
					both := check.Must(redlatch.NewMulti(of(s.Client), s.Client.Mutex("b")))
					h := check.Must(both.Lock(t.Context(), opt))
					for key, entry := range session(s.Memory, s.Client) {
						if strings.HasSuffix(entry, " 0") && !strings.HasSuffix(key, " ready") {
							t.Errorf("%s is on record as %q, and may be held until %v at most", key, entry, h.Deadline())
						}
					}
				})
			})
		}
	}
}
