package kinds_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A recall that comes while the answer to an earlier look is on its way.
func TestARecallIsHeardThatComesWhileTheNoteIsBeingWritten(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return slices.Contains([]string{"mutex", "write", "read"}, k.Name) }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Context()
		other := s.Stranger()
		var once sync.Once
		hold := make(chan struct{})
		asked := make(chan struct{})
		h := make(chan *redlatch.Hold, 1)
		s.All(func(cs []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(cs...)
			mine := false
			for _, c := range cs {
				for _, w := range c.Words {
					mine = mine || w == "deploy"
				}
			}
			if mine {
				once.Do(func() { close(asked); <-hold })
			}
			return replies
		})
		go func() {
			h <- check.Must(s.Home.Lock.Lock(ctx, redlatch.WithNote("deploy"), redlatch.WithLease(time.Hour)))
		}()
		one := <-h
		<-asked
		waits, leave := context.WithCancel(ctx)
		left := make(chan error)
		go func() { _, err := s.Home.Rival.Lock(waits); left <- err }()
		time.Sleep(2 * time.Second)
		ask(s, other, one, "")
		time.Sleep(100 * time.Millisecond)
		close(hold)
		time.Sleep(time.Second)
		if !isClosed(one.Recalled()) {
			s.Error("it listens, and does not hear of the recall")
		}
		leave()
		<-left
		s.Home.Free(one)
	})
}
