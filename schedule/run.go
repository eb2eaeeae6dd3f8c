package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/sole"
)

// Run runs a job at its times, until ctx ends or there are no more times. All machines call it with a lock of
// the same name: a Mutex or a FairMutex, because Run uses WithMinHold. Each job needs a lock of its own. Run
// takes it as an owner of its own, whatever owner ctx has (redlatch.Client.WithOwner). Run blocks. It runs one time after the other, in the goroutine of its caller.
//
// If Redis does not answer or refuses, Run tries again until half of AtLeast is over. Then it reports the
// time as Missed. When ctx ends, Run waits until the job has returned. If the job panics, Run releases the
// lock, and the panic reaches the caller.
//
// Run returns the error of ctx, nil if there are no more times, or an error that another attempt cannot mend.
// If the lock, the times or the options cannot work, Run returns at once, and not at the first time. Such an error is a
// *redlatch.ConfigError, redlatch.ErrClosed, ErrInvalidName, ErrWrongType, ErrReentry, ErrUpgrade or
// ErrUnsupported.
func Run(ctx context.Context, l redlatch.Lock, times Times, job Job, opts ...redlatch.LockOption) error {
	return run(ctx, time.Now, l, times, job, opts)
}

// run is Run with a clock, of which only the wall time is used: it may jump.
func run(ctx context.Context, clock func() time.Time, l redlatch.Lock, times Times, job Job, opts []redlatch.LockOption) error {
	job, err := job.withDefaults()
	if err != nil {
		return err
	}
	if err := cmp.Or(sole.Check(l), lockerr.Missing("times", times)); err != nil {
		return err
	}
	r := &runner{
		lock: l, times: times, job: job, opts: opts,
		now: func() time.Time { return clock().UTC().Round(0) }, // in no local zone, without the monotonic clock
	}
	ctx = sole.Context(ctx)
	from, late := r.now(), ErrLate
	if err := r.refused(ctx, from); err != nil {
		return err
	}
	r.ref = lock.RefOf(l)
	for {
		due, err := r.await(ctx, from, late)
		if err == nil && !due.IsZero() {
			late, err = r.attempt(ctx, due)
			from = due
		}
		if err != nil || due.IsZero() {
			r.reportHeldBack()
			return err
		}
	}
}

// runner runs one job on this machine.
type runner struct {
	lock  redlatch.Lock
	times Times
	job   Job
	opts  []redlatch.LockOption
	now   func() time.Time

	ref      *lock.Ref   // of the lock; nil if that is the caller's own kind, until it was held
	tried    []time.Time // the last times that an attempt was made for, the last one at the end
	noted    int64       // the token by which a note of the present time was sent, 0 if none was
	heldBack Event       // times that were missed while Observe was called; the zero value is none
}

// refused is why no attempt can work, as far as that is known without Redis. It attempts to acquire the lock
// for the first time with a context that has ended: options and names are checked before that is.
func (r *runner) refused(ctx context.Context, from time.Time) error {
	due, err := r.next(from)
	if err != nil || due.IsZero() {
		return err
	}
	if err := r.refusedTimes(due); err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	h, err := r.lock.TryLock(ended, r.options(r.job.AtLeast)...)
	if err = lockerr.Taken(r.lock, h, err); err == nil { // it is a lock of a user, which heeds no context
		(*lock.Hold)(h).ForgoMinHold()
		err = h.Unlock(ctx)
	}
	if sole.Final(err) {
		return fmt.Errorf("schedule: %w", err)
	}
	return nil
}

// refusedTimes is why these times, of which due is the first, cannot be those of several machines, or nil.
func (r *runner) refusedTimes(due time.Time) error {
	if again := r.times.Next(due.Add(-1)); !again.Equal(due) {
		return &redlatch.ConfigError{Field: "times", Reason: fmt.Sprintf(
			"they depend on when Next is called (%v, asked again %v), so they differ from machine to machine; for a fixed interval use Every", due, again)}
	}
	if interval, is := r.times.(every); is && time.Duration(interval) < leastInterval {
		return &redlatch.ConfigError{Field: "times", Reason: fmt.Sprintf("Every(%v) is less than %v: is a unit missing?", time.Duration(interval), leastInterval)}
	}
	return nil
}

// leastInterval is the least that Every takes. A forgotten unit makes nanoseconds of seconds.
const leastInterval = time.Second

// options are those of an acquisition, which keeps the lock for that long at least.
func (r *runner) options(atLeast time.Duration) []redlatch.LockOption {
	opts := append(r.opts[:len(r.opts):len(r.opts)], redlatch.WithWait(0), redlatch.WithFencing(), redlatch.WithMinHold(atLeast))
	if r.job.AtMost > 0 {
		opts = append(opts, redlatch.WithMaxHold(r.job.AtMost))
	}
	return opts
}

// next is the first time after t.
func (r *runner) next(t time.Time) (time.Time, error) {
	next := r.times.Next(t)
	if !next.IsZero() && !next.After(t) {
		return next, &redlatch.ConfigError{Field: "times", Reason: fmt.Sprintf("the next time after %v is %v, which is not later", t, next)}
	}
	return next.Round(0), nil
}

// longestSleep is how late a clock that was set is noticed.
const longestSleep = time.Minute

// await sleeps until the next time after from that is not missed. The zero time means that there is
// none. Between two reports it sleeps, for a slow Observe must not make it miss one time after the other.
func (r *runner) await(ctx context.Context, from time.Time, late error) (time.Time, error) {
	for reported := false; ; {
		if err := ctx.Err(); err != nil {
			return time.Time{}, err
		}
		due, err := r.untried(from)
		if err != nil || due.IsZero() {
			return due, err
		}
		atLeast, err := r.atLeast(due)
		if err != nil {
			return due, err
		}
		now := r.now()
		if now.Before(from.Add(-atLeast / 2)) { // the clock was set back, by more than clocks may differ
			from = now
			continue
		}
		fresh, err := r.next(now.Add(-atLeast / 2))
		if err != nil {
			return due, err
		}
		if fresh.IsZero() || fresh.After(due) {
			missed := Event{Kind: Missed, Due: due, Until: fresh, Err: late}
			if reported {
				r.holdBack(missed)
			} else {
				r.report(missed)
				reported, late = true, ErrObserve
			}
			from = now.Add(-atLeast / 2) // after which fresh comes
			continue
		}
		if !due.After(now) {
			return due, nil
		}
		if err := pause.For(ctx, min(due.Sub(now), longestSleep)); err != nil {
			return due, err
		}
		reported, late = false, ErrLate
	}
}

// holdBack keeps an event until the next report. Several become one.
func (r *runner) holdBack(missed Event) {
	if r.heldBack.Kind != "" {
		missed.Due = r.heldBack.Due
	}
	r.heldBack = missed
}

// atLeast is how long the lock stays held for a time.
func (r *runner) atLeast(due time.Time) (time.Duration, error) {
	next, err := r.next(due)
	if err != nil || next.IsZero() {
		return r.job.AtLeast, err
	}
	return min(r.job.AtLeast, max(next.Sub(due)/2, shortestHold)), nil
}

// shortestHold is the least that WithMinHold takes. Times that are nearer than that must not end Run.
const shortestHold = 10 * time.Millisecond

// retryPause is the time between two attempts.
const retryPause = 200 * time.Millisecond

// attempt runs the job for one time, unless another machine has the lock. After an unknown outcome this machine may have it.
// The result late is why the next time will be late, should it be.
func (r *runner) attempt(ctx context.Context, due time.Time) (late, err error) {
	r.tried, r.noted = append(r.tried[max(0, len(r.tried)+1-mostTried):], due), 0
	atLeast, err := r.atLeast(due)
	if err != nil {
		return nil, err
	}
	opts := r.options(atLeast)
	var failed error
	for {
		ran, err := r.once(ctx, due, atLeast/2, opts)
		switch {
		case ran:
			return ErrOverrun, ctx.Err()
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, ErrRan), errors.Is(err, redlatch.ErrNotAcquired) && !r.own(err, failed):
			r.report(Event{Kind: Elsewhere, Due: due, Err: errors.Join(err, failed)})
			return ErrLate, nil
		case sole.Final(err):
			return nil, fmt.Errorf("schedule: %w", err)
		}
		failed = err
		if r.now().Sub(due)+retryPause > atLeast/2 {
			until, err := r.next(due)
			r.report(Event{Kind: Missed, Due: due, Until: until, Err: failed})
			return failed, err
		}
		if err := pause.For(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}

// own says that an acquisition may be refused because of an owner of this client, by whom it was granted before without an
// answer. Of several locks, only the refusal right behind that counts.
func (r *runner) own(err, before error) bool {
	if r.ref == nil {
		return errors.Is(before, redlatch.ErrUnknownOutcome)
	}
	refused, is := errors.AsType[*redlatch.NotAcquiredError](err)
	return is && protocol.OwnedBy(r.ref.Manager().ID, refused.Holder)
}

// once takes the lock if it is free, and runs the job if it is not too late by then. It waits for an
// answer no longer than that: a lock that is granted to nobody does not stay held for AtLeast.
func (r *runner) once(ctx context.Context, due time.Time, window time.Duration, opts []redlatch.LockOption) (ran bool, err error) {
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	limit := time.AfterFunc(window-r.now().Sub(due), cancel)
	defer func() {
		if !ran && limited.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("no lock within %v: %w", window, windowOver{err})
		}
	}()
	if _, err := r.ran(limited, due, 0); err != nil && r.noted == 0 {
		return false, err
	}
	e := Event{Kind: Ran, Due: due}
	var unnoted error
	e.Err = redlatch.Do(limited, r.lock, func(ctx context.Context, h *redlatch.Hold) (err error) {
		hold := (*lock.Hold)(h)
		if r.ref == nil {
			r.ref = hold.Ref()
		}
		r.noted = cmp.Or(r.noted, h.Token()) // by which this machine knows its own note
		unnoted, err = r.ran(limited, due, r.noted)
		e.Late, e.Token = r.now().Sub(due), h.Token()
		if err == nil && (!limit.Stop() || e.Late > window) {
			err = fmt.Errorf("the lock was granted %v after the time", e.Late)
		}
		if err != nil {
			hold.ForgoMinHold()
			return err
		}
		ran = true
		began := time.Now()
		defer func() { e.Took = time.Since(began) }()
		return r.job.Do(ctx, due, h)
	}, opts...)
	if ran {
		e.Err = errors.Join(e.Err, unnoted)
		r.report(e)
	}
	return ran, e.Err
}

// windowOver is the error of an attempt that the runner has cancelled. The context of Run has not ended, and nobody is
// known to have the lock.
type windowOver struct{ error }

func (e windowOver) Is(target error) bool {
	return target != context.Canceled && target != redlatch.ErrNotAcquired && errors.Is(e.error, target)
}

func (e windowOver) As(target any) bool { return errors.As(e.error, target) }

// report tells the observer, and before that what was held back.
func (r *runner) report(e Event) {
	r.reportHeldBack()
	e.Lock = r.lock.Name()
	r.job.Observe(e)
}

func (r *runner) reportHeldBack() {
	if missed := r.heldBack; missed.Kind != "" {
		r.heldBack = Event{}
		r.report(missed)
	}
}
