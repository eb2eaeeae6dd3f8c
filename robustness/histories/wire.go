package histories

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Wire is the connection of a client to a server. It counts the requests without an answer: the server may
// have carried them out, or may do so later.
type Wire struct {
	driver.Bounded
	unheard, underWay atomic.Int64
	ended             atomic.Pointer[time.Time] // the last request
}

// Do sends one command.
func (w *Wire) Do(ctx context.Context, c driver.Command) driver.Reply { return w.Pipeline(ctx, c)[0] }

// Pipeline sends commands.
func (w *Wire) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	w.underWay.Add(1)
	replies := w.Bounded.Pipeline(ctx, commands...)
	for _, r := range replies {
		if _, answered := errors.AsType[*driver.ServerError](r.Err); r.Err != nil && !answered && !errors.Is(r.Err, driver.ErrNotSent) {
			w.unheard.Add(1)
		}
	}
	now := time.Now()
	w.ended.Store(&now)
	w.underWay.Add(-1)
	return replies
}

// unheard is how many requests of a client were not answered.
func unheard(wires []*Wire) (n int64) {
	for _, w := range wires {
		n += w.unheard.Load()
	}
	return n
}

// idle says that no request of a client was under way at that moment or later.
func idle(wires []*Wire, since time.Time) bool {
	for _, w := range wires {
		if ended := w.ended.Load(); w.underWay.Load() > 0 || ended != nil && !ended.Before(since) {
			return false
		}
	}
	return true
}
