package kinds_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Waits that poll, of each kind.

// spin polls as a spin lock of Redisson does.
var (
	spin       = redlatch.WithBackoff(time.Millisecond, 128*time.Millisecond)
	spinConfig = redlatch.Config{Backoff: redlatch.Backoff{Max: 128 * time.Millisecond}}
)

// The keys are deleted by hand, so that nobody is told: in the middle of a wait, and shortly before its end, which
// cuts the last pause.
func TestAWaiterThatPollsEntersWithinTheLongestPause(t *testing.T) {
	const wait = 30 * time.Second
	last := redlatch.WithBackoff(500*time.Millisecond, 20*time.Second)
	for name, e := range map[string]struct {
		opt         redlatch.LockOption
		after, most time.Duration
	}{"amid": {spin, 20 * time.Second, 128 * time.Millisecond}, "late": {last, wait - 300*time.Millisecond, 300 * time.Millisecond}} {
		t.Run(name, func(t *testing.T) {
			scene.Each(t, redlatch.Config{PollCap: time.Hour}, func(s *scene.Scene) {
				var requests atomic.Int64
				s.All(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					requests.Add(1)
					return send(commands...)
				})
				most := e.most
				if s.Sort == scene.Majority {
					most += e.most + 20*time.Millisecond // a vote while the servers forget one by one is split
				}
				rival := check.Must(s.Stranger().Rival.Lock(s.Context(), redlatch.WithLease(time.Hour)))
				members := rival.Members()
				rival.Detach()
				began := time.Now()
				time.AfterFunc(e.after, func() { s.Forget(members) })
				h, err := s.Home.Lock.Lock(s.Context(), e.opt, redlatch.WithWait(wait))
				if err != nil {
					s.Fatal(err)
				}
				check.Within(s.T, "wait", time.Since(began), e.after, e.after+most)
				if n := requests.Load(); n > 3000 { // up to three servers are asked 16 times in a second
					s.Errorf("%d requests while it waited", n)
				}
				s.Home.Free(h)
			})
		})
	}
}

func TestAReleaseOfThisProcessWakesAWaiterThatPollsAtOnce(t *testing.T) {
	cfg := redlatch.Config{Backoff: redlatch.Backoff{First: time.Minute, Max: time.Hour / 2}, PollCap: time.Hour}
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort != scene.Majority }, cfg, func(s *scene.Scene) {
		h := check.Must(s.Home.Rival.Lock(s.Context()))
		got := make(chan time.Time, 1)
		go func() {
			next := check.Must(s.Home.Lock.Lock(s.Context()))
			got <- time.Now()
			s.Home.Free(next)
		}()
		time.Sleep(1300 * time.Millisecond) // not when a keep-alive is due
		s.Home.Free(h)
		freed := time.Now()
		check.Within(s.T, "wait after the release", (<-got).Sub(freed), 0, 10*time.Millisecond)
	})
}

// Goal: a client with Config.Backoff does all that others do, and never subscribes nor sends PUBLISH.
// Method: two processes pass every kind of lock on to each other, with several goroutines each.
func TestAClientThatPollsNeedsNoMessages(t *testing.T) {
	scene.Each(t, spinConfig, func(s *scene.Scene) {
		processes := []*scene.Process{s.Home, s.Other(spinConfig)}
		var published atomic.Int64
		s.All(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			for _, c := range commands {
				if c.Words[0] == "PUBLISH" {
					published.Add(1)
				}
			}
			return send(commands...)
		})
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				p := processes[i%2]
				l := []redlatch.Lock{p.Lock, p.Rival}[i/4]
				for range 5 {
					began := time.Now()
					h := check.Must(l.Lock(s.Context()))
					check.Within(s.T, "wait", time.Since(began), 0, time.Minute)
					time.Sleep(3 * time.Millisecond)
					s.Home.Free(h)
				}
			})
		}
		all.Wait()
		for _, p := range s.Posts {
			if l, n := p.Listens.Load(), published.Load(); l+n > 0 {
				s.Errorf("%d connections for messages, %d times PUBLISH", l, n)
			}
		}
	})
}
