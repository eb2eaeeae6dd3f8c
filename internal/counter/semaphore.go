package counter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Semaphore is a number of permits.
type Semaphore struct {
	named
	calls script.Semaphore
}

// Semaphore refers to the semaphore of a name.
func (c *Counters) Semaphore(name string) Semaphore {
	calls := script.NewSemaphore(c.manager.Key(name), c.manager.Messages)
	return Semaphore{c.named(name, calls.Key, calls.Channel, waitqueue.Key(calls.Channel, calls.Key)), calls}
}

// Permits refers to the semaphore of a name whose permits are leased.
func (c *Counters) Permits(name string) Semaphore {
	permits := script.NewPermits(c.manager.Key(name), c.manager.Messages)
	n := c.named(name, permits.Key, permits.Channel, lock.PermitQueue(permits), permits.InUse)
	n.err = cmp.Or(n.err, c.manager.CheckUnbraced(name))
	return Semaphore{n, permits.Semaphore}
}

// Available is how many permits can be taken, with those that have expired.
func (s Semaphore) Available(ctx context.Context) (int, error) {
	return s.count(ctx, "available permits of", s.calls.Read())
}

// TrySet makes the semaphore with so many permits, if there is none.
func (s Semaphore) TrySet(ctx context.Context, permits int) (bool, error) {
	return s.trySet(ctx, "set permits of", func(r script.Request) script.Call { return s.calls.Set(permits, r) })
}

func (n named) trySet(ctx context.Context, verb string, call func(script.Request) script.Call) (bool, error) {
	result, err := n.change(ctx, verb, call)
	set, err := answer(ctx, n, verb, result, err, script.ReadSet)
	if err == nil {
		n.manager.Queues().Wake(n.queue, nil)
	}
	return set, err
}

// Drain takes all permits that are available.
func (s Semaphore) Drain(ctx context.Context) (int, error) {
	const verb = "drain"
	result, err := s.change(ctx, verb, s.calls.Drain)
	return answer(ctx, s.named, verb, result, err, script.ReadDrained)
}

// Add changes by n how many permits there are.
func (s Semaphore) Add(ctx context.Context, n int) error {
	return s.add(ctx, "add permits to", n, s.change)
}

// Release puts n permits back, also if ctx has ended.
func (s Semaphore) Release(ctx context.Context, n int) error {
	return s.add(ctx, "release permits of", n, func(ctx context.Context, verb string, call func(script.Request) script.Call) (script.Result, error) {
		return s.finish(ctx, verb, call, func() { s.gave(s.key, n) })
	})
}

// add adds permits, and wakes a local waiter when that was answered. The message of it is an echo.
func (s Semaphore) add(
	ctx context.Context, verb string, n int,
	send func(context.Context, string, func(script.Request) script.Call) (script.Result, error),
) error {
	if err := s.usable(); err != nil {
		return err
	}
	queues := s.manager.Queues()
	queues.Freeing(s.queue)
	began := time.Now()
	result, err := send(ctx, verb, func(r script.Request) script.Call { return s.calls.Add(n, r) })
	added, err := answer(ctx, s.named, verb, result, err, script.ReadAdded)
	queues.Released(s.queue, false, added.Told, time.Since(began))
	switch {
	case err != nil:
		return err
	case added.TooMany:
		return fmt.Errorf("redlatch: %s %q: %w: %d more, and it would have more than %d permits, or fewer than %d", verb, s.name, lockerr.ErrUnsupported, n, script.MaxCount, -script.MaxCount-1)
	case added.PublishDenied:
		s.manager.PublishDenied(s.channel)
	}
	return nil
}

// TryAcquire takes n permits, if they are available.
func (s Semaphore) TryAcquire(ctx context.Context, n int) (bool, error) {
	if err := s.enter(acquiring, (*lock.Manager).Enter); err != nil {
		return false, err
	}
	defer s.manager.Leave()
	if ctx.Err() != nil {
		return false, s.notAcquired(ctx, acquiring)
	}
	have, err := s.take(ctx, n)
	return have > 0, err
}

const acquiring = "acquire permits of"

// Acquire waits until it has taken n permits, or ctx ends.
func (s Semaphore) Acquire(ctx context.Context, n int) error {
	if err := s.enter(acquiring, (*lock.Manager).Enter); err != nil {
		return err
	}
	defer s.manager.Leave()
	if ctx.Err() != nil {
		return s.notAcquired(ctx, acquiring)
	}
	if !s.manager.Queues().MustWait(ctx, s.queue) {
		if have, err := s.take(ctx, n); err != nil || have > 0 {
			return err
		}
	}
	ctx, end := pause.Bound(ctx)
	defer end()
	own := &want{n, make(chan bool, 1)}
	w := s.manager.Queues().JoinShared(s.queue, own, true)
	w.Limit(ctx, 0)
	over, err := w.Wait(ctx, func(next waitqueue.Step) (over bool, err error) {
		got, over := next.Result.(served)
		if !over {
			over, got.next, err = s.takeFor(ctx, n, w.Batch())
		}
		switch {
		case err != nil:
			return true, err
		case over:
			w.Enter(got.next)
		default:
			w.Tried(got.next)
		}
		return over, nil
	})
	if !over {
		return s.leave(ctx, w, own)
	}
	if err != nil {
		w.Leave() // the next one asks
	}
	return err
}

// want is what a waiter wants.
type want struct {
	n    int
	back chan bool // tells a waiter that has left whether nothing is left of what was taken for it
}

// served tells a waiter that another one has taken its permits as well, and when the next one is to ask.
type served struct{ next time.Time }

// takeFor takes permits for a waiter that wants n, and for those behind it. Next is when the first that has none is to ask.
// After an error those behind it ask for themselves.
func (s Semaphore) takeFor(ctx context.Context, n int, batch []*waitqueue.Waiter) (first bool, next time.Time, err error) {
	wants := []int{n}
	for _, w := range batch {
		wants = append(wants, w.Value.(*want).n)
	}
	have, err := s.take(ctx, wants...)
	if err == nil && have < len(wants) {
		next = s.nap()
	}
	for i, w := range batch {
		own := w.Value.(*want)
		switch {
		case i+1 < have:
			if !w.Complete(served{next}, true) {
				s.undo(s.begin(s.key), own.n, own.back)
			}
		case !w.Unclaim():
			own.back <- !errors.Is(err, lockerr.ErrUnknownOutcome)
		}
	}
	return have > 0, next, err
}

// leave ends a wait, because ctx has ended or the client closes. What was taken by then counts.
func (s Semaphore) leave(ctx context.Context, w *waitqueue.Waiter, own *want) error {
	claimed := w.Leave()
	if _, served := w.Next(time.Now()).Result.(served); served {
		return nil
	}
	if claimed && !pause.Within(lock.Grace, own.back) {
		return s.failure(ctx, acquiring, lockerr.ErrUnknownOutcome)
	}
	return s.unanswered(ctx, acquiring)
}

// take asks once for what each of several waiters wants. It returns how many of them, from the first on, have it. After
// an error nobody has, unless it is ErrUnknownOutcome.
func (s Semaphore) take(ctx context.Context, wants ...int) (have int, err error) {
	r, sending, returned := s.begin(s.key), ctx, false
	defer func() {
		if !returned { // a context of somebody's own type panics
			s.undo(r, 0, make(chan bool, 1))
		}
	}()
	if len(wants) > 1 { // the waiter in front is the next whose time is over: that should not undo what others get
		var end context.CancelFunc
		sending, end = context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		defer context.AfterFunc(ctx, func() { time.AfterFunc(lock.Grace/2, end) })()
	}
	result, err := s.manager.Runner().Run(sending, s.calls.Acquire(r.Request, wants...))
	taken, returned := 0, true
	if err == nil {
		taken, err = script.ReadTaken(result.Reply)
	}
	unknown := script.IsUnknown(err)
	if taken > 0 || !unknown && !result.Repeated {
		s.end(r)
		if taken > 0 {
			s.took(s.key, taken)
		}
		for ; taken > 0 && have < len(wants); have++ {
			taken -= wants[have]
		}
		return have, s.refusal(ctx, err)
	}
	undone := make(chan bool, 1)
	s.undo(r, 0, undone)
	if err == nil || !unknown || pause.Within(lock.Grace, undone) {
		return 0, s.refusal(ctx, lock.Bare(err))
	}
	return 0, s.failure(ctx, acquiring, err)
}

// undo undoes, aside, a request that was given up, or that was sent more than once and refused. With a fresh
// request it puts n permits back that were taken for a waiter that has left, if there still is a semaphore. It tells
// whether nothing is left of them. After a long pause of the process nobody knows that, because the record may have
// expired.
func (s Semaphore) undo(r request, n int, undone chan<- bool) {
	s.insist(r, time.Now(), s.calls.Cancel(r.Request, n), func(result script.Result, err error) {
		putBack := false
		if err == nil {
			putBack, err = script.ReadCancelled(result.Reply)
		}
		s.gave(s.key, n)
		s.manager.Queues().Wake(s.queue, nil)
		undone <- err == nil && (putBack || time.Since(r.began) < s.keep)
	})
}

// refusal is the error of a request that has taken nothing.
func (s Semaphore) refusal(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && lock.CutOff(err):
		return s.notAcquired(ctx, acquiring)
	}
	return s.failure(ctx, acquiring, err)
}
