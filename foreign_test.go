package redlatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/random"
)

// Locks that other libraries hold, and counters that others have set.

// strangeOwners are names that no client of ours has. The first is that of node-redisson,
// the second one of redi.go.
func strangeOwners() []string {
	return []string{random.UUID() + ":" + random.UUID(), "host-1", "a worker: number 1", "x:1:2"}
}

// occupy has an owner hold a lock for twenty seconds, in the way that excludes a kind.
func (s *stage) occupy(k lockKind, owner string) {
	const lease = 20 * time.Second
	m := s.memory.Miniredis()
	switch k.of {
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
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		for _, owner := range strangeOwners() {
			s.occupy(k, owner)
			began := time.Now()
			_, err := k.lock(s.client, "job").TryLock(s.limited())
			is(t, fmt.Sprintf("TryLock behind %q", owner), err, redlatch.ErrNotAcquired)
			h, err := k.lock(s.client, "job").Lock(s.limited(), redlatch.WithWait(time.Minute))
			if err != nil {
				t.Errorf("Lock behind %q: %v", owner, err)
				s.memory.Miniredis().Del("job")
				continue
			}
			within(t, fmt.Sprintf("wait behind %q", owner), time.Since(began), 20*time.Second, 20*time.Second+20*time.Millisecond)
			_ = h.Unlock(s.limited())
		}
	})
}

func TestStatusNamesAHolderOfAnyName(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		for _, owner := range strangeOwners() {
			for _, k := range lockKinds {
				s.occupy(k, owner)
				var status redlatch.Status
				var err error
				switch k.of {
				case "mutex":
					status, err = s.client.Mutex("job").Status(s.limited())
				case "fair":
					status, err = s.client.FairMutex("job").Status(s.limited())
				default:
					status, err = s.client.RWMutex("job").Status(s.limited())
				}
				if n, held := status.HeldBy(owner); n != 1 || !held {
					t.Errorf("%s: behind %q Status is %+v, %v", k.name, owner, status, err)
				}
				s.memory.Miniredis().FlushAll()
			}
		}
	})
}

// Goal: who asks for a token and gets an error holds nothing. Method: counters that cannot
// be counted on, and some that can.
func TestAnAcquisitionThatFailsForItsTokenLeavesNothingHeld(t *testing.T) {
	const counter = "redisson_lock_token:{job}"
	all := append(slices.Clone(lockKinds), lockKind{name: "multi", lock: multiOf, rival: multiOf})
	for _, k := range all {
		t.Run(k.name, func(t *testing.T) {
			story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
				for _, value := range []string{"-5", "-1", "-9223372036854775808", "9223372036854775807", "1.5", "high"} {
					if err := s.memory.Miniredis().Set(counter, value); err != nil {
						t.Fatal(err)
					}
					h, err := k.lock(s.client, "job").Lock(s.limited(), redlatch.WithFencing(), redlatch.WithWait(time.Second))
					if err == nil {
						if k.name != "multi" && h.Token() < 1 {
							t.Errorf("after %s the token is %d", value, h.Token())
						}
						_ = h.Unlock(s.limited())
					}
					keys := slices.DeleteFunc(s.memory.Miniredis().Keys(), func(key string) bool {
						return key == counter || key == "redisson_lock_token:{job}:second"
					})
					if len(keys) > 0 {
						t.Errorf("after %s, and Lock is %v, Redis has %v for %v", value, err, keys, s.ttl("job"))
					}
					s.memory.Miniredis().FlushAll()
				}
			})
		})
	}
}

// An error names who holds the lock, whatever that one is called.
func TestErrorsAreOneShortLineWhoeverHoldsTheLock(t *testing.T) {
	eachKind(t, redlatch.Config{}, func(t *testing.T, s *stage, k lockKind) {
		for _, owner := range []string{"x\nlock: free", "\x1b[2K", "x\u202e", "\xff", strings.Repeat("long", 1<<11)} {
			s.occupy(k, owner)
			_, err := k.lock(s.client, "job").TryLock(s.limited())
			is(t, "TryLock", err, redlatch.ErrNotAcquired)
			text := err.Error()
			if len(text) > 1000 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) {
				t.Errorf("behind %.20q the error has %d bytes: %.1000q", owner, len(text), text)
			}
			s.memory.Miniredis().FlushAll()
		}
	})
}
