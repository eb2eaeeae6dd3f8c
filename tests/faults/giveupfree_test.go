package faults_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: who has taken nothing wakes nobody when it gives up. Otherwise a slow server gets a request of
// every process for each wait that ends. Method: a lock that is held, one who waits for it, and one
// whose replies are lost.
func TestWhoGivesUpWithoutAReplyWakesNobody(t *testing.T) {
	stage.Story(t, redlatch.Config{PollCap: time.Hour, LeaseTime: 3 * time.Hour}, func(t *testing.T, s *stage.Stage) {
		held := check.Must(s.Stranger().Mutex("job").Lock(s.Limited(), redlatch.WithLease(2*time.Hour)))
		ctx, cancel := context.WithCancel(s.Limited())
		var over sync.WaitGroup
		over.Go(func() { _, _ = s.Client.Mutex("job").Lock(ctx) })
		time.Sleep(time.Second)
		net := &stage.Tap{Driver: s.Memory}
		net.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			time.Sleep(10 * time.Millisecond)
			if replies := send(commands...); !isScript(commands[0]) || commands[0].Words[3] != "job" || len(commands[0].Words) > 7 {
				return replies
			}
			return stage.FailAll(commands, stage.ErrCut)
		})
		before := s.Driver.Scripts.Load()
		for range 10 {
			_, _ = s.On(net, redlatch.Config{}).Mutex("job").TryLock(must2(context.WithTimeout(s.Limited(), 15*time.Millisecond)))
			synctest.Wait()
		}
		time.Sleep(time.Second)
		if n := s.Driver.Scripts.Load() - before; n > 0 {
			t.Errorf("one who waits asked %d times, although nobody released the lock", n)
		}
		cancel()
		over.Wait()
		_ = held.Unlock(s.Limited())
	})
}

func isScript(c driver.Command) bool { return len(c.Words[0]) > 3 && c.Words[0][:4] == "EVAL" }

func must2(ctx context.Context, _ context.CancelFunc) context.Context { return ctx }
