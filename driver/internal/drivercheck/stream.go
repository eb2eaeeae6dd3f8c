package drivercheck

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Stream is a caller who increments a key without a break.
type Stream struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu                sync.Mutex
	written, readonly int
}

// StartStream has one go on until the end of the test.
func StartStream(t *testing.T, d driver.Driver) *Stream {
	s := &Stream{}
	ctx, cancel := context.WithCancel(t.Context())
	s.stop = cancel
	s.done.Go(func() {
		for ctx.Err() == nil {
			err := d.Do(ctx, Command("INCR", "stream")).Err
			var refused *driver.ServerError
			s.mu.Lock()
			switch {
			case err == nil:
				s.written++
			case errors.As(err, &refused) && refused.Code() == "READONLY":
				s.readonly++
			}
			s.mu.Unlock()
			time.Sleep(time.Millisecond) // no more load than the test needs
		}
	})
	t.Cleanup(s.End)
	return s
}

// End ends it, and waits for that.
func (s *Stream) End() {
	s.stop()
	s.done.Wait()
}

// Counts are the commands that succeeded, and those that a replica refused.
func (s *Stream) Counts() (written, readonly int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written, s.readonly
}

// AwaitMore waits for further successes.
func (s *Stream) AwaitMore(t *testing.T, n int) {
	t.Helper()
	before, _ := s.Counts()
	redistest.Eventually(t, Later, func() bool { now, _ := s.Counts(); return now >= before+n }, "commands are carried out")
}

// FollowsFailover kills the primary under commands. They go on at the new primary, and so do new listeners.
func FollowsFailover(t *testing.T, d driver.Driver, s *redistest.Sentinels) (calls *Stream, first, second *redistest.Member) {
	t.Helper()
	first, calls = s.Primary(t), StartStream(t, d)
	calls.AwaitMore(t, 50)
	l := Listen(t, d, driver.Events{})
	first.Kill()
	Within(t, l.Done(), "the end of the listener")
	second = s.AwaitFailover(t, first)
	s.Settle(t)
	calls.AwaitMore(t, 50)
	if second.CLI(t, "GET", "stream") == nil {
		t.Error("the new primary has seen nothing")
	}
	if reply := d.DedicatedPipeline(t.Context(), Command("SET", "dedicated", "x"), Command("WAIT", "1", "5000"))[1]; reply.Int < 1 {
		t.Errorf("the new primary's replica did not confirm: %+v", reply)
	}
	received := make(chan struct{})
	l = Listen(t, d, driver.Events{Message: func(string, string) { close(received) }})
	if err := l.Subscribe(t.Context(), "channel"); err != nil {
		t.Fatal(err)
	}
	second.CLI(t, "PUBLISH", "channel", "hello")
	Within(t, received, "a message of the new primary")
	return calls, first, second
}
