package watchdog

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// maxStalled is how many stalled clients one look reads. If there are more, the next look reads
// the following ones.
const maxStalled = 5000

// maxRecent is how many clients every other look reads then instead: those that are overdue for
// the shortest time. Invented names must not hide a client that has just been paused.
const maxRecent = 2500

// maxVisits is how many clients are visited at a time.
const maxVisits = 128

// minLease is the shortest lease by which the next visit is planned.
const minLease = time.Second

// round is a look and the visits that follow from it. It ends when all visits have begun, or
// when the next look is due, which it reports. It does not wait for the visits.
func (w *Watchdog) round(ctx context.Context, next <-chan time.Time) (due bool) {
	seen, err := w.look(ctx)
	if ctx.Err() != nil {
		return false
	}
	w.setReachable(err)
	if err != nil {
		return false
	}
	w.setListed(seen.unlisted)
	mine := w.share(seen)
	w.noteView(seen, len(mine))
	for _, one := range w.schedule.due(seen.stalled.Clients, time.Now(), func(client string) bool { return mine[client] }) {
		select {
		case w.slots <- struct{}{}: // first, though the next look may be due as well
		default:
			select {
			case w.slots <- struct{}{}:
			case <-next:
				return true
			case <-ctx.Done():
				return false
			}
		}
		w.schedule.change(one.Client, func(r *record) { r.underWay = true })
		w.visits.Go(func() {
			v := &visit{Watchdog: w, Stalled: one, seen: seen, mine: mine[one.Client], shortest: noLease}
			defer v.end()
			v.serve(ctx)
			if ctx.Err() == nil { // a visit that the end of Run interrupts has not failed
				w.visited(v)
			}
		})
	}
	return false
}

// view is what a look has found.
type view struct {
	at       time.Time // on this machine's clock, before the look left
	now      time.Time // by Redis's clock
	alive    script.Alive
	unlisted error // why Redis refuses to list this watchdog
	stalled  script.StalledPage
	whole    bool // it has all stalled clients
}

// look reads which clients are stalled. It costs the same for any number of locks, and of
// clients that run.
func (w *Watchdog) look(ctx context.Context) (view, error) {
	aliveFor := w.config.aliveFor()
	if !w.able {
		aliveFor = 0
	}
	from, limit := w.skip, maxStalled
	if w.recent {
		from, limit = w.all-maxRecent, 2*maxRecent // there may be more or fewer by now
	}
	results, err := w.runner.RunAll(ctx, script.WatchdogHeartbeat(w.id, aliveFor), script.SessionsStalled(from, limit))
	if err != nil {
		return view{}, err
	}
	seen := view{at: results[0].Asked}
	// A server without free memory refuses new entries, but lets leases be raised.
	seen.alive, seen.unlisted = script.ReadWatchdogs(results[0].Reply)
	if seen.stalled, err = script.ReadStalled(results[1].Reply); err != nil {
		return view{}, err
	}
	seen.now, w.all = seen.stalled.Now, seen.stalled.All
	if w.recent {
		w.recent = false
		return seen, nil
	}
	seen.whole = w.skip == 0 && w.all <= maxStalled
	if w.skip += maxStalled; w.skip >= w.all {
		w.skip = 0
	}
	w.recent = w.all > maxStalled
	return seen, nil
}

// share is the set of clients in a view that this watchdog serves.
func (w *Watchdog) share(seen view) map[string]bool {
	mine := make(map[string]bool)
	for _, one := range seen.stalled.Clients {
		if serves(w.id, seen.alive.IDs, one.Client) {
			mine[one.Client] = true
		}
	}
	return mine
}

// noteView notes what a look has found.
func (w *Watchdog) noteView(seen view, mine int) {
	for _, client := range w.schedule.retain(seen.stalled.Clients, seen.whole, time.Now()) {
		w.log.Info("client is not stalled any more", "client", protocol.Show(client))
	}
	w.setAble(seen.stalled.All > 0)
	w.counters.note(func(s *Stats) {
		s.Looks++
		s.LastLook = time.Now()
		s.Skipped += int64(seen.stalled.Skipped)
		s.Watchdogs, s.Stalled, s.Serving = seen.alive.Count, seen.stalled.All, mine
	})
}

// visited notes a visit, and logs what is new about the client.
func (w *Watchdog) visited(v *visit) {
	if isForbidden(v.failure) {
		w.denied.Store(true)
	} else if v.failure == nil {
		w.served.Store(true)
	}
	w.counters.note(func(s *Stats) { s.Skipped += int64(v.skipped) })
	if v.over {
		w.schedule.forget(v.Client)
		return
	}
	var told, warned bool
	w.schedule.change(v.Client, func(r *record) {
		told, warned = r.told, r.warned
		r.last, r.lease, r.underWay, r.seen = time.Now(), max(v.shortest, minLease), false, time.Now()
		if v.failure != nil {
			r.lease = 0
		}
		r.told = told || v.mine && v.pulse != ""
		r.warned = warned || v.failure != nil || v.skipped > 0
		told, warned = r.told && !told, r.warned && !warned
	})
	if told {
		w.log.Info("client is paused: renewing its holds", "client", protocol.Show(v.Client), "holds", v.holds)
	}
	switch {
	case warned && v.failure != nil:
		w.log.Error("a client cannot be served: trying on", "client", protocol.Show(v.Client), "reason", protocol.Line(v.failure.Error()))
	case warned:
		w.log.Warn("some entries of a session are not renewed: not the client's, out of bounds, or forbidden",
			"client", protocol.Show(v.Client), "entries", v.skipped)
	}
}
