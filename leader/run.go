package leader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/sole"
)

// Run stands for election until ctx ends, Started resigns, or an error occurs that another attempt cannot
// mend. It blocks. Each time that Run acquires l, with a fencing token, it calls cb.Started, and at the end
// cb.Stopped. If the leadership is lost, Run stands again.
//
// Lock l must be exclusive (redlatch.Exclusive): a Mutex, a FairMutex, the write side of an RWMutex, or a Multi or
// Quorum, whose tokens are those of its members. Run takes it as an owner of its own, whatever owner ctx has
// (redlatch.Client.WithOwner). WithLease, WithMaxHold and Config.MaxHold limit each leadership. With WithWait, Run gives
// up if it was not elected in time.
//
// When ctx ends, the context of Started ends. Run keeps and renews the lock until Started has returned. Then
// it releases the lock, and another process can lead at once. The same happens if somebody asks for the lock
// (redlatch.Mutex.Recall). Run then leaves the lock to others for 10 s, and stands again.
//
// Run returns:
//
//   - nil, if Started returned while it led. To stand again, call Run again.
//   - The error of ctx, if ctx has ended.
//   - ErrStillRunning, if Started did not return in time.
//   - redlatch.ErrNotAcquired, with WithWait.
//   - redlatch.ErrClosed, ErrInvalidName, ErrWrongType, ErrReentry, ErrUpgrade, ErrUnsupported or a
//     *redlatch.ConfigError, from the acquisition.
//   - The error of the release, if Started resigned. It matches redlatch.ErrLost if the lease had ended
//     before.
//
// If Started panics, Run releases the lock, and then panics with a *PanicError. Run passes other errors of an
// acquisition to cb.Failed, and tries again after a pause of 0.1 to 5 s.
func Run(ctx context.Context, l redlatch.Lock, cb Callbacks, opts ...redlatch.LockOption) error {
	cb, err := cb.withDefaults()
	if err != nil {
		return err
	}
	if err := sole.Check(l); err != nil {
		return err
	}
	ctx = sole.Context(ctx)
	opts = append(opts[:len(opts):len(opts)], redlatch.WithFencing(), redlatch.WithRecall())
	for backoff := (pause.Backoff{First: firstPause, Max: longestPause}); ; {
		h, err := l.Lock(ctx, opts...)
		switch err = lockerr.Taken(l, h, err); {
		case err == nil:
			backoff.Reset()
			over, err := cb.lead(ctx, h)
			if over {
				return err
			}
			if errors.Is(err, redlatch.ErrRecalled) {
				_ = pause.For(ctx, standBack)
			}
		case ctx.Err() != nil:
			return ended(ctx, err)
		case sole.Final(err), errors.Is(err, redlatch.ErrNotAcquired):
			return fmt.Errorf("leader: %w", err)
		default:
			cb.Failed(err)
			_ = backoff.Wait(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// The pauses after attempts that failed.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 5 * time.Second
)

// standBack is how long a leader that was asked for its lock leaves it to others. Waiters that poll (Config.PollCap) have
// tried to take it by then, too.
const standBack = 10 * time.Second

// ended is the error of Run if ctx ended during an acquisition.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, redlatch.ErrNotAcquired) {
		return ctx.Err()
	}
	return errors.Join(ctx.Err(), err) // the lock may be held for a lease
}
