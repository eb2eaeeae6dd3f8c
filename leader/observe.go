package leader

import (
	"context"
	"iter"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// Leader says who leads.
type Leader struct {
	Owner string // Hold.Owner of the leader; "" if nobody leads
	Name  string // Config.Name of its client; "" if unknown
	Term  int64  // its token; 0 if nobody leads
}

// Observed is a lock that says who holds it: a Mutex, a FairMutex or an RWMutex.
type Observed interface {
	Status(ctx context.Context) (redlatch.Status, error)
}

// Observe yields who leads now, and then each change, until ctx ends or the caller leaves the loop. When
// nobody leads, it yields the zero Leader.
//
// Observe asks Redis at once, and then once in every interval. So it sees a change up to one interval later.
// It does not see a leader that came and went between two requests: the terms then have a gap. The least
// interval is 10 ms, and a shorter one counts as that.
//
// If Redis does not answer, Observe yields the error, and asks again after the interval. It yields the next
// answer in any case. If l is nil, it yields a *redlatch.ConfigError, and ends.
//
//	for now, err := range leader.Observe(ctx, client.Mutex("billing"), time.Second) {
//
// What Observe yields may already be outdated. Do not act as the leader because of it.
func Observe(ctx context.Context, l Observed, interval time.Duration) iter.Seq2[Leader, error] {
	interval = max(interval, minInterval)
	return func(yield func(Leader, error) bool) {
		if err := lockerr.Missing("lock", l); err != nil {
			yield(Leader{}, err)
			return
		}
		var last Leader
		known := false
		for ctx.Err() == nil {
			now, err := ask(ctx, l)
			if ctx.Err() != nil {
				return
			}
			if err != nil || !known || now.Owner != last.Owner || now.Term != last.Term {
				if !yield(now, err) {
					return
				}
			}
			last, known = now, err == nil
			_ = pause.For(ctx, interval)
		}
	}
}

// minInterval keeps an observer from becoming a load on the server.
const minInterval = 10 * time.Millisecond

// ask reads who leads now.
func ask(ctx context.Context, l Observed) (Leader, error) {
	status, err := l.Status(ctx)
	if err != nil || status.Mode == redlatch.ModeRead || len(status.Holders) == 0 {
		return Leader{}, err
	}
	h := status.Holders[0]
	return Leader{Owner: h.Owner, Name: h.Name, Term: status.Token}, nil
}
