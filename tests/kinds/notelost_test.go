package kinds_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: a note changes nothing about what a loss leaves in Redis. A server without the data, for example after a failover,
// answers one renewal. The next request reaches the one that has the lock. The holder has time to stop until the lease ends.
func TestANoteFreesNoLockOfAHolderThatIsToStop(t *testing.T) {
	for _, opts := range [][]redlatch.LockOption{nil, {redlatch.WithNote("deploy")}} {
		t.Run([]string{"without a note", "with a note"}[len(opts)], func(t *testing.T) {
			scene.EachThat(t, func(k scene.Kind) bool { return k.Name == "mutex" || k.Name == "fair" }, redlatch.Config{}, func(s *scene.Scene) {
				h := check.Must(s.Home.Lock.Lock(s.Context(), opts...))
				time.Sleep(time.Second)
				m, wrong := s.Posts[0].Memory.Miniredis(), true
				s.All(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					renewal := slices.ContainsFunc(commands, func(c driver.Command) bool { return slices.Contains(c.Words, "30000") })
					if !wrong || !renewal {
						return send(commands...)
					}
					wrong = false
					left := m.TTL("job")
					m.Del("job")
					replies := send(commands...)
					m.HSet("job", h.Owner(), "1")
					m.SetTTL("job", left)
					return replies
				})
				<-h.Done()
				check.Is(s.T, "the hold", h.Err(), redlatch.ErrLost)
				time.Sleep(5 * time.Second)
				if !m.Exists("job") {
					s.Error("the lock is free, and its holder may have heard of the loss just now")
				}
			})
		})
	}
}
