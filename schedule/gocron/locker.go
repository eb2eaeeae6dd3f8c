package gocron

import (
	"context"

	cron "github.com/go-co-op/gocron/v2"
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/sole"
)

// Locker takes a lock for each run of a job. Pass it to gocron.WithDistributedLocker, or for one job to
// gocron.WithDistributedJobLocker.
type Locker struct {
	lock func(name string) redlatch.Lock
	opts []redlatch.LockOption
}

var _ cron.Locker = (*Locker)(nil)

// NewLocker returns a locker. Function lock makes the lock of a job from the job's name in gocron, such as
//
//	func(name string) redlatch.Lock { return client.Mutex("cron:" + name) }
//
// Give each job a name (gocron.WithName). Use times that are the same on all machines: a cron expression, or
// a start time. A gocron.DurationJob counts from the start of the process.
//
// Use redlatch.WithMinHold. Otherwise a short job may run once on each machine, because the clocks of the
// machines differ. Choose more than that difference, and less than the time between two runs.
func NewLocker(lock func(name string) redlatch.Lock, opts ...redlatch.LockOption) *Locker {
	return &Locker{lock, opts}
}

// Lock takes the lock of a job if it is free, and does not wait. If Lock returns an error, gocron skips the
// run. gocron does not learn of a lock that is lost while the job runs.
func (l *Locker) Lock(ctx context.Context, key string) (cron.Lock, error) {
	if err := lockerr.Missing("lock", l.lock); err != nil {
		return nil, err
	}
	lock := l.lock(key)
	if err := sole.Check(lock); err != nil {
		return nil, err
	}
	hold, err := lock.TryLock(sole.Context(ctx), l.opts...)
	if err := lockerr.Taken(lock, hold, err); err != nil {
		return nil, err // not a nil *Hold in an interface
	}
	return hold, nil
}
