package leases_test

import (
	"strings"
	"sync"
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

// Goal: while an owner waits for a whole with an end, of which it has one member, the session says of that member's lock what
// the owner's other holds ask for. Method: another client has the last member. Meanwhile a hold of the owner ends, and one begins.
func TestAWholeThatIsWaitedForChangesNothingOnRecord(t *testing.T) {
	for side, of := range sides {
		t.Run(side, func(t *testing.T) {
			stage.Protected(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				last := "a"
				for driver.Slot(last) <= driver.Slot("job") { // members are taken in the order of their slots
					last += "a"
				}
				blocks := check.Must(s.Other(redlatch.Config{}).Mutex(last).Lock(t.Context()))
				ctx := s.Client.WithOwner(t.Context())
				l, both := of(s.Client), check.Must(redlatch.NewMulti(of(s.Client), s.Client.Mutex(last)))
				outer := check.Must(l.Lock(ctx))
				var whole *redlatch.Hold
				var waiting sync.WaitGroup
				waiting.Go(func() { whole = check.Must(both.Lock(ctx, redlatch.WithMaxHold(time.Minute))) })
				wantSession(s, "while the whole is waited for", record(side, outer, 2))
				_ = outer.Unlock(ctx)
				wantSession(s, "when the member alone is held", nil)
				outer = check.Must(l.Lock(ctx))
				wantSession(s, "when there is another hold beside it", record(side, outer, 2))
				_ = outer.Unlock(ctx)
				_ = blocks.Unlock(t.Context())
				waiting.Wait()
				_ = whole.Unlock(ctx)
				wantSession(s, "at the end", nil)
			})
		})
	}
}
