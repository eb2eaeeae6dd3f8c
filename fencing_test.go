package redlatch_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestTokensGrowWithEveryHoldOfEveryKind(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		for _, clock := range []bool{false, true} {
			a, b := open(t, url, redlatch.Config{TokenClock: clock}), open(t, url, redlatch.Config{TokenClock: clock})
			d, name := raw(t, url), redistest.Name(t)
			last := int64(0)
			for i := range 12 {
				c := []*redlatch.Client{a, b}[i%2]
				locks := []redlatch.Lock{c.Mutex(name), c.FairMutex(name), c.RWMutex(name), c.RWMutex(name).RLocker()}
				h := must(locks[i%4].Lock(t.Context(), redlatch.WithFencing()))
				if h.Token() <= last {
					t.Errorf("token %d after %d", h.Token(), last)
				}
				if !clock && h.Token() != last+1 {
					t.Errorf("token %d after %d, want the next", h.Token(), last)
				}
				last = h.Token()
				if err := h.Unlock(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if ttl := do(t, d, "PTTL", "redisson_lock_token:{"+name+"}").Int; ttl != -1 {
				t.Errorf("the counter has the TTL %d", ttl)
			}
			do(t, d, "PEXPIRE", "redisson_lock_token:{"+name+"}", "60000") // as a Java multi-lock does
			if err := must(a.Mutex(name).Lock(t.Context(), redlatch.WithFencing())).Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			last = must(a.Mutex(name).Status(t.Context())).Token
			if ttl := do(t, d, "PTTL", "redisson_lock_token:{"+name+"}").Int; ttl != -1 {
				t.Errorf("the counter keeps the TTL %d that somebody gave it", ttl)
			}
			if status := must(a.Mutex(name).Status(t.Context())); status.Token != last {
				t.Errorf("status has the token %d, want %d", status.Token, last)
			}
			plain := must(a.Mutex(name).Lock(t.Context()))
			if plain.Token() != 0 {
				t.Errorf("a hold without fencing has the token %d", plain.Token())
			}
			must(b.Mutex(name).ForceUnlock(t.Context()))
			if h := must(b.Mutex(name).Lock(t.Context(), redlatch.WithFencing())); h.Token() <= last {
				t.Errorf("after a forced release the token is %d, not above %d", h.Token(), last)
			}
			do(t, d, "DEL", name, "redisson_lock_token:{"+name+"}")
		}
	})
}

func TestReentryKeepsTheToken(t *testing.T) {
	eachServer(t, func(t *testing.T, url string) {
		c, name := open(t, url, redlatch.Config{}), redistest.Name(t)
		m, ctx := c.Mutex(name), c.WithOwner(t.Context())
		plain := must(m.Lock(ctx))
		one, two := must(m.Lock(ctx, redlatch.WithFencing())), must(m.Lock(ctx, redlatch.WithFencing()))
		if one.Token() == 0 || one.Token() != two.Token() || plain.Token() != 0 {
			t.Errorf("tokens are %d, %d, %d; want 0 and twice the same", plain.Token(), one.Token(), two.Token())
		}
		for _, h := range []*redlatch.Hold{two, one, plain} {
			_ = h.Unlock(ctx)
		}
	})
}

func TestATokenWhoseReplyIsLostIsFollowedByAGreaterOne(t *testing.T) {
	story(t, redlatch.Config{}, func(t *testing.T, s *stage) {
		m := s.client.Mutex("job")
		h := must(m.Lock(t.Context(), redlatch.WithFencing()))
		next := make(chan *redlatch.Hold)
		go func() { next <- must(m.Lock(t.Context(), redlatch.WithFencing())) }()
		synctest.Wait()
		s.driver.spoil(once(losesAnswer))
		_ = h.Unlock(t.Context())
		if second := <-next; second.Token() <= h.Token() {
			t.Errorf("token %d after %d", second.Token(), h.Token())
		}
	})
}

// TestTokensByTheClockSurviveALostCounter deletes the counter, as a failover does that
// has lost its increments.
func TestTokensByTheClockSurviveALostCounter(t *testing.T) {
	story(t, redlatch.Config{TokenClock: true}, func(t *testing.T, s *stage) {
		take := func() int64 {
			h := must(s.client.Mutex("job").Lock(t.Context(), redlatch.WithFencing()))
			_ = h.Unlock(t.Context())
			return h.Token()
		}
		last := take()
		for range 10 {
			time.Sleep(time.Millisecond)
			s.memory.Miniredis().Del("redisson_lock_token:{job}")
			if token := take(); token <= last {
				t.Errorf("token %d after %d", token, last)
			} else {
				last = token
			}
		}
	})
}

// Goal: counters of names that nobody uses any more go, and tokens grow all the same.
func TestCountersByTheClockExpire(t *testing.T) {
	const keep = time.Hour
	for kind, lock := range map[string]func(c *redlatch.Client) redlatch.Lock{
		"mutex": func(c *redlatch.Client) redlatch.Lock { return c.Mutex("job") },
		"fair":  func(c *redlatch.Client) redlatch.Lock { return c.FairMutex("job") },
		"read":  func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").RLocker() },
		"write": func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job").Locker() },
	} {
		t.Run(kind, func(t *testing.T) {
			story(t, redlatch.Config{TokenClock: true, TokenKeep: keep}, func(t *testing.T, s *stage) {
				const counter = "redisson_lock_token:{job}"
				take := func() int64 {
					h := must(lock(s.client).Lock(t.Context(), redlatch.WithFencing()))
					_ = h.Unlock(t.Context())
					return h.Token()
				}
				last := take()
				within(t, "TTL of the counter", s.ttl(counter), keep-time.Second, keep)
				time.Sleep(keep / 2)
				if token := take(); token <= last {
					t.Errorf("token %d after %d", token, last)
				}
				within(t, "TTL of the counter after another token", s.ttl(counter), keep-time.Second, keep)
				// The clock was three hours ahead, and was set right.
				ahead := time.Now().Add(3 * time.Hour).UnixMicro()
				_ = s.memory.Miniredis().Set(counter, strconv.FormatInt(ahead, 10))
				if last = take(); last != ahead+1 {
					t.Errorf("token %d after %d", last, ahead)
				}
				within(t, "TTL of a counter that is ahead", s.ttl(counter), keep+3*time.Hour-time.Second, keep+3*time.Hour+time.Millisecond)
				time.Sleep(keep + 3*time.Hour + time.Second)
				s.memory.Miniredis().FastForward(0)
				if s.memory.Miniredis().Exists(counter) {
					t.Fatal("the counter has not expired")
				}
				if token := take(); token <= last {
					t.Errorf("token %d after %d", token, last)
				}
			})
		})
	}
}
