package gocron

import (
	"context"
	"errors"
	"sync/atomic"

	cron "github.com/go-co-op/gocron/v2"
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/leader"
)

// Elector lets gocron run jobs on this machine only while the machine leads. Pass it to
// gocron.WithDistributedElector, and call Run, which stands for election.
type Elector struct {
	hold atomic.Pointer[redlatch.Hold] // while this machine leads
}

var _ cron.Elector = (*Elector)(nil)

// ErrNotLeader means that this machine does not lead now.
var ErrNotLeader = errors.New("redlatch: this machine does not lead")

// Run stands for election until ctx ends, and returns what leader.Run returns. gocron does not end a job when
// its machine no longer leads. So the last job of one leader and the first job of the next may overlap. A
// job that must not overlap needs a lock of its own.
func (e *Elector) Run(ctx context.Context, l redlatch.Lock, opts ...redlatch.LockOption) error {
	return leader.Run(ctx, l, leader.Callbacks{
		Started: func(ctx context.Context, h *redlatch.Hold) {
			e.hold.Store(h)
			<-ctx.Done()
			e.hold.Store(nil)
		},
	}, opts...)
}

// IsLeader returns nil while this machine leads and its lease has not ended. gocron calls it before each
// run.
func (e *Elector) IsLeader(context.Context) error {
	if h := e.hold.Load(); h == nil || !h.Valid() {
		return ErrNotLeader
	}
	return nil
}
