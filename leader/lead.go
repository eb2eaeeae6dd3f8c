package leader

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/redlatch/redlatch"
)

// Between any two lines the process can be paused, the lease can end, and ctx can end. So the order
// is always the same: the context of Started ends, Started returns, the lock is released. Only a
// Started that does not return skips the release.

// lead is one term. It says whether Run is over, and with which error.
func (cb Callbacks) lead(ctx context.Context, h *redlatch.Hold) (over bool, err error) {
	cb.StepDown = stepDown(cb.StepDown, h.Lease()) // what is left of it now may be less
	work, end := context.WithCancelCause(h.Context())
	defer end(nil)
	returned := cb.start(work, h)
	why := cb.await(work, h, returned)
	end(why)
	panicked, back := cb.awaitReturn(returned)
	if !back {
		h.Detach() // a release would let another one lead beside the work that goes on
		err := fmt.Errorf("leader of %q: %w after %v, so the lock is not released: %w", h.Name(), ErrStillRunning, cb.StopTimeout, why)
		cb.Stopped(err)
		return true, err
	}
	if errors.Is(why, redlatch.ErrReleased) && h.Unlocked() { // by Started, which has resigned so
		why = nil
	}
	err = release(ctx, h, why)
	if panicked != nil {
		cb.Stopped(errors.Join(panicked, err))
		panic(panicked)
	}
	cb.Stopped(err)
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	return why == nil, err
}

// stepDown is how long before the end of the lease the work ends. It leaves a renewal, which may be due
// at half of the lease, some time.
func stepDown(asked, lease time.Duration) time.Duration {
	if asked == 0 {
		asked = lease / 6
	}
	return max(min(asked, lease/3), time.Millisecond)
}

// start calls Started. The channel gets its panic, or nil.
func (cb Callbacks) start(work context.Context, h *redlatch.Hold) chan *PanicError {
	returned := make(chan *PanicError, 1)
	go func() {
		finished := false
		defer func() {
			value := recover()
			if finished || value == nil { // nil is runtime.Goexit
				returned <- nil
				return
			}
			returned <- &PanicError{Value: value, Stack: debug.Stack()}
		}()
		cb.Started(work, h)
		finished = true
	}()
	return returned
}

// await waits until the leadership ends, and says why. Nil is that Started has returned by itself.
func (cb Callbacks) await(work context.Context, h *redlatch.Hold, returned chan *PanicError) error {
	soon, at := time.NewTimer(0), time.Now()
	defer soon.Stop()
	for {
		select {
		case panicked := <-returned:
			returned <- panicked // for awaitReturn
			return context.Cause(work)
		case <-work.Done():
			return context.Cause(work)
		case <-soon.C:
			wait := cb.StepDown // A watchdog may have kept a hold whose time is over here. The hold itself finds that out.
			switch left, late := time.Until(h.Deadline()), time.Since(at); {
			case left > cb.StepDown:
				wait = left - cb.StepDown
			case left > 0 && late > cb.StepDown/16: // The process was paused, and has not had the time for a renewal.
				wait = min(late, left/2)
			case left > 0:
				return fmt.Errorf("leader of %q steps down %v before its lease ends, which was not renewed: %w", h.Name(), left, redlatch.ErrLost)
			}
			at = time.Now().Add(wait)
			soon.Reset(wait)
		}
	}
}

// awaitReturn waits until Started has returned, for a limited time.
func (cb Callbacks) awaitReturn(returned <-chan *PanicError) (panicked *PanicError, back bool) {
	limit := time.NewTimer(cb.StopTimeout)
	defer limit.Stop()
	select {
	case panicked := <-returned:
		return panicked, true
	case <-limit.C:
		return nil, false
	}
}

// release gives the lock back. The error is why the leadership ended, and what failed besides.
func release(ctx context.Context, h *redlatch.Hold, why error) error {
	err := h.Unlock(ctx)
	if errors.Is(why, redlatch.ErrLost) && errors.Is(err, redlatch.ErrLost) {
		return why
	}
	return errors.Join(why, err)
}
