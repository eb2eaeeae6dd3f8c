package locks_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

func TestTokensGrowWithEveryHoldOfEveryKind(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		for _, clock := range []bool{false, true} {
			a, b := fixture.Open(t, url, redlatch.Config{TokenClock: clock}), fixture.Open(t, url, redlatch.Config{TokenClock: clock})
			d, name := fixture.Raw(t, url), redistest.Name(t)
			last := int64(0)
			for i := range 12 {
				c := []*redlatch.Client{a, b}[i%2]
				locks := []redlatch.Lock{c.Mutex(name), c.FairMutex(name), c.RWMutex(name), c.RWMutex(name).RLocker()}
				h := check.Must(locks[i%4].Lock(t.Context(), redlatch.WithFencing()))
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
			if ttl := fixture.Do(t, d, "PTTL", "redisson_lock_token:{"+name+"}").Int; ttl != -1 {
				t.Errorf("the counter has the TTL %d", ttl)
			}
			fixture.Do(t, d, "PEXPIRE", "redisson_lock_token:{"+name+"}", "60000") // as a Java multi-lock does
			if err := check.Must(a.Mutex(name).Lock(t.Context(), redlatch.WithFencing())).Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			last = check.Must(a.Mutex(name).Status(t.Context())).Token
			if ttl := fixture.Do(t, d, "PTTL", "redisson_lock_token:{"+name+"}").Int; ttl != -1 {
				t.Errorf("the counter keeps the TTL %d that somebody gave it", ttl)
			}
			if status := check.Must(a.Mutex(name).Status(t.Context())); status.Token != last {
				t.Errorf("status has the token %d, want %d", status.Token, last)
			}
			plain := check.Must(a.Mutex(name).Lock(t.Context()))
			if plain.Token() != 0 {
				t.Errorf("a hold without fencing has the token %d", plain.Token())
			}
			check.Must(b.Mutex(name).ForceUnlock(t.Context()))
			if h := check.Must(b.Mutex(name).Lock(t.Context(), redlatch.WithFencing())); h.Token() <= last {
				t.Errorf("after a forced release the token is %d, not above %d", h.Token(), last)
			}
			fixture.Do(t, d, "DEL", name, "redisson_lock_token:{"+name+"}")
		}
	})
}

func TestReentryKeepsTheToken(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, name := fixture.Open(t, url, redlatch.Config{}), redistest.Name(t)
		m, ctx := c.Mutex(name), c.WithOwner(t.Context())
		plain := check.Must(m.Lock(ctx))
		one, two := check.Must(m.Lock(ctx, redlatch.WithFencing())), check.Must(m.Lock(ctx, redlatch.WithFencing()))
		if one.Token() == 0 || one.Token() != two.Token() || plain.Token() != 0 {
			t.Errorf("tokens are %d, %d, %d; want 0 and twice the same", plain.Token(), one.Token(), two.Token())
		}
		for _, h := range []*redlatch.Hold{two, one, plain} {
			_ = h.Unlock(ctx)
		}
	})
}

func TestATokenWhoseReplyIsLostIsFollowedByAGreaterOne(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		m := s.Client.Mutex("job")
		h := check.Must(m.Lock(t.Context(), redlatch.WithFencing()))
		next := make(chan *redlatch.Hold)
		go func() { next <- check.Must(m.Lock(t.Context(), redlatch.WithFencing())) }()
		synctest.Wait()
		s.Driver.Spoil(stage.Once(stage.AnswerLost))
		_ = h.Unlock(t.Context())
		if second := <-next; second.Token() <= h.Token() {
			t.Errorf("token %d after %d", second.Token(), h.Token())
		}
	})
}

// TestTokensByTheClockSurviveALostCounter deletes the counter, as a failover does that
// has lost its increments.
func TestTokensByTheClockSurviveALostCounter(t *testing.T) {
	stage.Story(t, redlatch.Config{TokenClock: true}, func(t *testing.T, s *stage.Stage) {
		take := func() int64 {
			h := check.Must(s.Client.Mutex("job").Lock(t.Context(), redlatch.WithFencing()))
			_ = h.Unlock(t.Context())
			return h.Token()
		}
		last := take()
		for range 10 {
			time.Sleep(time.Millisecond)
			s.Memory.Miniredis().Del("redisson_lock_token:{job}")
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
		"write": func(c *redlatch.Client) redlatch.Lock { return c.RWMutex("job") },
	} {
		t.Run(kind, func(t *testing.T) {
			stage.Story(t, redlatch.Config{TokenClock: true, TokenKeep: keep}, func(t *testing.T, s *stage.Stage) {
				const counter = "redisson_lock_token:{job}"
				take := func() int64 {
					h := check.Must(lock(s.Client).Lock(t.Context(), redlatch.WithFencing()))
					_ = h.Unlock(t.Context())
					return h.Token()
				}
				last := take()
				check.Within(t, "TTL of the counter", s.TTL(counter), keep-time.Second, keep)
				time.Sleep(keep / 2)
				if token := take(); token <= last {
					t.Errorf("token %d after %d", token, last)
				}
				check.Within(t, "TTL of the counter after another token", s.TTL(counter), keep-time.Second, keep)
				// The clock was three hours ahead, and was set right.
				ahead := time.Now().Add(3 * time.Hour).UnixMicro()
				_ = s.Memory.Miniredis().Set(counter, strconv.FormatInt(ahead, 10))
				if last = take(); last != ahead+1 {
					t.Errorf("token %d after %d", last, ahead)
				}
				check.Within(t, "TTL of a counter that is ahead", s.TTL(counter), keep+3*time.Hour-time.Second, keep+3*time.Hour+time.Millisecond)
				time.Sleep(keep + 3*time.Hour + time.Second)
				s.Memory.Miniredis().FastForward(0)
				if s.Memory.Miniredis().Exists(counter) {
					t.Fatal("the counter has not expired")
				}
				if token := take(); token <= last {
					t.Errorf("token %d after %d", token, last)
				}
			})
		})
	}
}
