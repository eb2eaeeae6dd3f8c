package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/operator"
)

// Which times were run, by any machine, and for which this one has made an attempt. A clock that is set back shows
// them once more.

// mostTried is how many times a machine remembers.
const mostTried = 1000

// untried is the first time after t that no attempt was made for: the clock may have been set back.
func (r *runner) untried(t time.Time) (due time.Time, err error) {
	due, err = r.next(t)
	for err == nil && slices.ContainsFunc(r.tried, due.Equal) {
		due, err = r.next(due)
	}
	return due, err
}

// ran reports whether a time was run, on any machine, and notes that it is run now if there is a token. If Redis refuses
// to say it, the lock alone decides, and the reason is returned as refusal.
func (r *runner) ran(ctx context.Context, due time.Time, token int64) (refusal, err error) {
	if r.ref == nil {
		return nil, nil
	}
	switch before, err := operator.Ran(ctx, r.ref, due, token); {
	case before:
		return nil, ErrRan
	case refused(err):
		return err, nil
	default:
		return nil, err
	}
}

func refused(err error) bool {
	_, is := errors.AsType[*driver.ServerError](err)
	return is
}
