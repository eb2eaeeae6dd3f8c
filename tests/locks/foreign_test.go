package locks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Locks that other libraries hold, and counters that others have set.

// strangeOwners are names that no client of ours has. The first is that of node-redisson,
// the second one of redi.go.
func strangeOwners() []string {
	return []string{random.UUID() + ":" + random.UUID(), "host-1", "a worker: number 1", "x:1:2"}
}

// occupy has an owner hold a lock for twenty seconds, in the way that excludes a kind.
func occupy(s *stage.Stage, k stage.Kind, owner string) {
	const lease = 20 * time.Second
	m := s.Memory.Miniredis()
	switch k.Name {
	case "mutex", "fair":
		m.HSet("job", owner, "1")
	case "read":
		m.HSet("job", "mode", "write", owner+":write", "1")
	case "write":
		m.HSet("job", "mode", "read", owner, "1")
		timeout := "{job}:" + owner + ":rwlock_timeout:1"
		if err := m.Set(timeout, "1"); err != nil {
			s.Fatal(err)
		}
		m.SetTTL(timeout, lease)
	}
	m.SetTTL("job", lease)
}

func TestALockOfAnyOwnerIsWaitedFor(t *testing.T) {
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		for _, owner := range strangeOwners() {
			occupy(s, k, owner)
			began := time.Now()
			_, err := k.Lock(s.Client, "job").TryLock(s.Limited())
			check.Is(t, fmt.Sprintf("TryLock behind %q", owner), err, redlatch.ErrNotAcquired)
			h, err := k.Lock(s.Client, "job").Lock(s.Limited(), redlatch.WithWait(time.Minute))
			if err != nil {
				t.Errorf("Lock behind %q: %v", owner, err)
				s.Memory.Miniredis().Del("job")
				continue
			}
			check.Within(t, fmt.Sprintf("wait behind %q", owner), time.Since(began), 20*time.Second, 20*time.Second+20*time.Millisecond)
			_ = h.Unlock(s.Limited())
		}
	})
}

func TestStatusNamesAHolderOfAnyName(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		for _, owner := range strangeOwners() {
			for _, k := range stage.LockKinds {
				occupy(s, k, owner)
				var status redlatch.Status
				var err error
				switch k.Name {
				case "mutex":
					status, err = s.Client.Mutex("job").Status(s.Limited())
				case "fair":
					status, err = s.Client.FairMutex("job").Status(s.Limited())
				default:
					status, err = s.Client.RWMutex("job").Status(s.Limited())
				}
				if n, held := status.HeldBy(owner); n != 1 || !held {
					t.Errorf("%s: behind %q Status is %+v, %v", k.Name, owner, status, err)
				}
				s.Memory.Miniredis().FlushAll()
			}
		}
	})
}

// Goal: who asks for a token and gets an error holds nothing. Method: counters that cannot
// be counted on, and some that can.
func TestAnAcquisitionThatFailsForItsTokenLeavesNothingHeld(t *testing.T) {
	const counter = "redisson_lock_token:{job}"
	all := append(slices.Clone(stage.LockKinds), stage.Kind{Name: "multi", Lock: stage.MultiOf, Rival: stage.MultiOf})
	for _, k := range all {
		t.Run(k.Name, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				for _, value := range []string{"-5", "-1", "-9223372036854775808", "9223372036854775807", "1.5", "high"} {
					if err := s.Memory.Miniredis().Set(counter, value); err != nil {
						t.Fatal(err)
					}
					h, err := k.Lock(s.Client, "job").Lock(s.Limited(), redlatch.WithFencing(), redlatch.WithWait(time.Second))
					if err == nil {
						if k.Name != "multi" && h.Token() < 1 {
							t.Errorf("after %s the token is %d", value, h.Token())
						}
						_ = h.Unlock(s.Limited())
					}
					keys := slices.DeleteFunc(s.Memory.Miniredis().Keys(), func(key string) bool {
						return key == counter || key == "redisson_lock_token:{job}:second"
					})
					if len(keys) > 0 {
						t.Errorf("after %s, and Lock is %v, Redis has %v for %v", value, err, keys, s.TTL("job"))
					}
					s.Memory.Miniredis().FlushAll()
				}
			})
		})
	}
}

// An error names who holds the lock, whatever that one is called.
func TestErrorsAreOneShortLineWhoeverHoldsTheLock(t *testing.T) {
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		for _, owner := range []string{"x\nlock: free", "\x1b[2K", "x\u202e", "\xff", strings.Repeat("long", 1<<11)} {
			occupy(s, k, owner)
			_, err := k.Lock(s.Client, "job").TryLock(s.Limited())
			check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
			text := err.Error()
			if len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
				t.Errorf("behind %.20q the error has %d bytes: %.1000q", owner, len(text), text)
			}
			s.Memory.Miniredis().FlushAll()
		}
	})
}

// Goal: a lock of the longest TTL that Java sets, lock(Integer.MAX_VALUE, DAYS), is not asked for more
// often than any other. Method: the server tells a waiter that TTL for ten minutes.
func TestAnEndlessTTLIsNoReasonToAsk(t *testing.T) {
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		asked := 0
		s.Tap().Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(commands...)
			for i := range replies {
				if got := replies[i].Array; len(got) == 2 { // refused
					asked++
					got[0].Int = (1<<31 - 1) * 24 * 3600 * 1000
				}
			}
			return replies
		})
		h := check.Must(k.Rival(s.Stranger(), "job").Lock(s.Limited()))
		_, err := k.Lock(s.Client, "job").Lock(s.Limited(), redlatch.WithWait(10*time.Minute))
		check.Is(t, "Lock", err, redlatch.ErrNotAcquired)
		check.Within(t, "requests in ten minutes", asked, 1, 1+10*60/4)
		_ = h.Unlock(s.Limited())
	})
}
