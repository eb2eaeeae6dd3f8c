package counter

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Goal: the next waiter asks at once if permits may be left, and does not ask if none are. Method: three wait, and
// another client adds some; the requests are counted. The first one asks for two.
func TestTheNextWaiterAsksIfPermitsAreLeft(t *testing.T) {
	t.Parallel()
	for added, requests := range map[int]int{1: 1, 2: 2, 3: 2, 9: 2} {
		t.Run(strconv.Itoa(added), func(t *testing.T) {
			story(t, func(s *stage) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				served := make(chan error, 3)
				job := s.mine.Semaphore("job")
				for range 3 {
					go func() { served <- job.Acquire(ctx, 1) }()
					synctest.Wait()
				}
				time.Sleep(100 * time.Millisecond) // the first has subscribed, and asked once more
				sent, began := s.then(arrives), time.Now()
				if err := s.others.Semaphore("job").Add(ctx, added); err != nil {
					s.Fatal(err)
				}
				synctest.Wait()
				if len(served) != min(added, 3) || int(sent.Load()) != requests || time.Since(began) > 0 {
					t.Errorf("%d were served with %d requests within %v, want %d with %d at once", len(served), sent.Load(), time.Since(began), min(added, 3), requests)
				}
				cancel()
				for range 3 {
					if err := <-served; err != nil && !errors.Is(err, lockerr.ErrNotAcquired) {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Goal: who adds permits in the waiter's own process wakes it at once, whether it waits for a permit
// with an owner or without one, and whether the request was granted or refused. Method: the server
// refuses a request, and the permits were there without a message.
func TestAddedPermitsWakeAWaiterOfTheSameProcess(t *testing.T) {
	t.Parallel()
	for kind, of := range map[string]func(ctx context.Context, c *Counters) (Semaphore, func() error){
		"without an owner": func(ctx context.Context, c *Counters) (Semaphore, func() error) {
			job := c.Semaphore("job")
			return job, func() error { return job.Acquire(ctx, 1) }
		},
		"with an owner": func(ctx context.Context, c *Counters) (Semaphore, func() error) {
			ref := c.manager.Permits("job")
			return c.Permits("job"), func() error {
				h, err := ref.Acquire(ctx, c.manager.Plain(lock.Forever))
				if err == nil {
					h.Detach()
				}
				return err
			}
		},
	} {
		t.Run(kind, func(t *testing.T) {
			story(t, func(s *stage) {
				job, acquire := of(s.limited(), s.mine)
				s.with("job", "0")
				for _, answer := range []embedded.Fate{arrives, answers("ERR no")} {
					served := make(chan error, 1)
					go func() { served <- acquire() }()
					time.Sleep(100 * time.Millisecond)
					s.then(answer, arrives)
					if s.number("job") != "0" {
						s.Fatalf("%s permits are left", s.number("job"))
					}
					s.with("job", "1")
					began := time.Now()
					_ = job.Add(s.Context(), 1)
					if err := <-served; err != nil || time.Since(began) > 0 {
						t.Errorf("%v after %v, want a permit at once", err, time.Since(began))
					}
					s.with("job", "0")
				}
			})
		})
	}
}

// Goal: a latch is open at zero, below it, and where there is none. Method: the answers to one question,
// which all hear who wait already.
func TestALatchIsOpenAtZeroForAllWhoWait(t *testing.T) {
	t.Parallel()
	for count, open := range map[string]bool{"2": false, "1": false, "0": true, "-1": true, "": true} {
		t.Run(count, func(t *testing.T) {
			story(t, func(s *stage) {
				if count != "" {
					s.with("job", count)
				}
				job := s.mine.Latch("job")
				queues := job.manager.Queues()
				first, second := queues.JoinShared(job.queue, seen(false), false), queues.JoinShared(job.queue, seen(false), false)
				if !first.Next(time.Now()).Try {
					s.Fatal("the first waiter does not ask")
				}
				got, err := job.askFor(s.Context(), first.Batch())
				if err != nil || got != open {
					t.Errorf("open is %v, %v; want %v", got, err, open)
				}
				if told := second.Next(time.Now()).Result; open != (told == seen(true)) {
					t.Errorf("the second waiter was told %v", told)
				}
				for _, w := range []*waitqueue.Waiter{first, second} {
					w.Leave()
				}
				if n, err := job.Count(s.Context()); err != nil || n < 0 {
					t.Errorf("the count is %d, %v", n, err)
				}
			})
		})
	}
}

// Goal: a waiter that polls learns of a permit of another process by its next poll, also behind one that was just served.
// Method: a client without messages, whose waiters pause for 50 ms at most.
func TestWhoeverPollsGoesOnPollingBehindOneThatIsServed(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		const most = 50 * time.Millisecond
		s.mine.manager.Queues().Backoff = waitqueue.Backoff{First: most / 5, Max: most}
		c := s.wait(1, 1, 1)
		for i := range c.errs {
			if err := s.others.Semaphore("job").Add(s.Context(), 1); err != nil {
				s.Fatal(err)
			}
			began := time.Now()
			if err := <-c.errs[i]; err != nil || time.Since(began) > most+time.Millisecond {
				s.Errorf("waiter %d: %v after %v, want no error after %v at most", i, err, time.Since(began), most)
			}
		}
	})
}
