package watchdog

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// renewal is one lock of one session.
type renewal struct {
	session *session
	key     string // of the entry
	script.Renewal
}

// batchSize is how many locks are renewed by one script: enough to be cheap, and few
// enough that it holds up nobody else in Redis.
const batchSize = 100

// renew sets the full lease of everything that the sessions hold, each only for its owner,
// and notes what is not held any more.
func (w *Watchdog) renew(ctx context.Context, seen view, sessions []*session) {
	now := seen.now.Add(time.Since(seen.at))
	var all []renewal
	for _, s := range sessions {
		for _, e := range s.entries {
			r, more := e.Renewal(now)
			if !more {
				s.over = append(s.over, e.Key()) // WithMaxHold: nobody renews it any more
				continue
			}
			all = append(all, renewal{s, e.Key(), r})
		}
	}
	refused := w.send(ctx, w.batches(all, batchSize))
	// One that the server refuses, by its ACL, say, must not keep others from theirs.
	for _, one := range w.send(ctx, w.batches(refused, 1)) {
		w.log.Error("Redis refuses to renew a hold", "client", one.session.Client, "lock", one.Lock)
	}
}

// batches divides renewals into what one script may touch.
func (w *Watchdog) batches(all []renewal, size int) [][]renewal {
	var batches [][]renewal
	open := make(map[int]int) // of a slot: the batch that takes more, counted from 1
	for _, r := range all {
		slot := w.slot(r.Lock)
		at := open[slot]
		if at == 0 || len(batches[at-1]) == size {
			batches = append(batches, nil)
			at = len(batches)
			open[slot] = at
		}
		batches[at-1] = append(batches[at-1], r)
	}
	return batches
}

// send renews batches, and returns what was in those that the server refused.
func (w *Watchdog) send(ctx context.Context, batches [][]renewal) (refused []renewal) {
	questions := make([]question, len(batches))
	for i, batch := range batches {
		renewals := make([]script.Renewal, len(batch))
		for j, r := range batch {
			renewals[j] = r.Renewal
		}
		questions[i] = question{batch[0].Lock, script.Renew(renewals)}
	}
	for i, reply := range w.ask(ctx, questions) {
		kept, err := script.ReadRenewed(reply, len(batches[i]))
		var no *driver.ServerError
		switch {
		case err == nil:
			w.land(batches[i], kept)
		case errors.As(err, &no):
			w.failed(1)
			refused = append(refused, batches[i]...)
		default:
			w.failed(1)
			for _, r := range batches[i] {
				r.session.err = err
			}
		}
	}
	return refused
}

// land takes the answer for a batch.
func (w *Watchdog) land(batch []renewal, kept []script.Renewed) {
	gone := 0
	for i, r := range batch {
		if !kept[i].Held {
			r.session.over = append(r.session.over, r.key)
			gone++
		}
	}
	w.tally.note(func(s *Stats) {
		s.Gone += int64(gone)
		s.Renewals += int64(len(batch) - gone)
	})
}
