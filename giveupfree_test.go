package redlatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// Goal: who has taken nothing wakes nobody when it gives up. Otherwise a slow server gets a request of
// every process for each wait that ends. Method: a lock that is held, one who waits for it, and one
// whose replies are lost.
func TestWhoGivesUpWithoutAReplyWakesNobody(t *testing.T) {
	story(t, redlatch.Config{PollCap: time.Hour, LeaseTime: 3 * time.Hour}, func(t *testing.T, s *stage) {
		held := must(s.stranger().Mutex("job").Lock(s.limited(), redlatch.WithLease(2*time.Hour)))
		ctx, cancel := context.WithCancel(s.limited())
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = s.client.Mutex("job").Lock(ctx)
		}()
		time.Sleep(time.Second)
		net := &tap{Driver: s.memory}
		net.set(func(commands []driver.Command, send sender) []driver.Reply {
			time.Sleep(10 * time.Millisecond)
			if replies := send(commands...); !isScript(commands[0]) || commands[0].Words[3] != "job" || len(commands[0].Words) > 7 {
				return replies
			}
			return failAll(commands, errCut)
		})
		before := s.driver.scripts.Load()
		for range 10 {
			_, _ = s.on(net, redlatch.Config{}).Mutex("job").TryLock(must2(context.WithTimeout(s.limited(), 15*time.Millisecond)))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if n := s.driver.scripts.Load() - before; n > 0 {
			t.Errorf("one who waits asked %d times, although nobody released the lock", n)
		}
		cancel()
		<-over
		_ = held.Unlock(s.limited())
	})
}

func isScript(c driver.Command) bool { return len(c.Words[0]) > 3 && c.Words[0][:4] == "EVAL" }

func must2(ctx context.Context, _ context.CancelFunc) context.Context { return ctx }
