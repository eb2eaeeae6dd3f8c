package watchdog

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// mostStalled is how many stalled clients one look sees. Where there are more, the next look
// sees those that follow.
const mostStalled = 5000

// mostRecent is how many every other look sees then instead, those that are overdue for the
// shortest: invented names must not hide who has just been paused.
const mostRecent = 2500

// mostVisits is how many clients are visited at a time.
const mostVisits = 128

// leastLease is what a shorter lease is taken for when the next visit is planned.
const leastLease = time.Second

// view is what a look has seen.
type view struct {
	at      time.Time // on this machine's clock, before the look left
	now     time.Time // by Redis's clock
	alive   script.Alive
	unsaid  error // why Redis refuses to list this watchdog
	stalled script.StalledPage
	whole   bool // all of the stalled were seen
}

// look is one look at Redis. It costs the same for any number of locks and clients, as
// long as these run.
func (w *Watchdog) look(ctx context.Context) (view, error) {
	aliveFor := w.config.aliveFor()
	if !w.able {
		aliveFor = 0
	}
	from, most := w.pass, mostStalled
	if w.recent {
		from, most = w.all-mostRecent, 2*mostRecent // there may be more or fewer by now
	}
	results, err := w.runner.RunAll(ctx, script.WatchdogHeartbeat(w.id, aliveFor), script.SessionsStalled(from, most))
	if err != nil {
		return view{}, err
	}
	seen := view{at: results[0].Asked}
	// A full server takes no new words, and lets leases be raised.
	seen.alive, seen.unsaid = script.ReadWatchdogs(results[0].Reply)
	if seen.stalled, err = script.ReadStalled(results[1].Reply); err != nil {
		return view{}, err
	}
	seen.now, w.all = seen.stalled.Now, seen.stalled.All
	if w.recent {
		w.recent = false
		return seen, nil
	}
	seen.whole = w.pass == 0 && w.all <= mostStalled
	if w.pass += mostStalled; w.pass >= w.all {
		w.pass = 0
	}
	w.recent = w.all > mostStalled
	return seen, nil
}

// turn is a look and what follows from it. It ends when the next look is due, which it then
// reports, and does not wait for the visits that it began.
func (w *Watchdog) turn(ctx context.Context, next <-chan time.Time) (due bool) {
	seen, err := w.look(ctx)
	if ctx.Err() != nil {
		return false
	}
	w.setReachable(err)
	if err != nil {
		return false
	}
	w.setListed(seen.unsaid)
	mine := w.share(seen)
	w.take(seen, len(mine))
	ripe := w.schedule.ripe(seen.stalled.Clients, time.Now(), func(client string) bool { return mine[client] })
	for _, one := range ripe {
		select {
		case w.room <- struct{}{}:
		case <-next:
			return true
		case <-ctx.Done():
			return false
		}
		w.schedule.begin(one.Client)
		w.visits.Go(func() {
			v := &visit{Watchdog: w, Stalled: one, seen: seen, mine: mine[one.Client], shortest: noLease}
			defer v.end()
			v.serve(ctx)
			if ctx.Err() == nil { // what was cut off by the end is no failure
				w.visited(v)
			}
		})
	}
	return false
}

// take takes note of what a look has seen.
func (w *Watchdog) take(seen view, mine int) {
	for _, client := range w.schedule.retain(seen.stalled.Clients, seen.whole, time.Now()) {
		w.log.Info("client is not stalled any more", "client", protocol.Show(client))
	}
	w.setAble(seen.stalled.All > 0)
	w.tally.note(func(s *Stats) {
		s.Looks++
		s.LastLook = time.Now()
		s.Skipped += int64(seen.stalled.Skipped)
		s.Watchdogs, s.Stalled, s.Serving = seen.alive.Count, seen.stalled.All, mine
	})
}

// share is what this watchdog serves of what it has seen.
func (w *Watchdog) share(seen view) map[string]bool {
	mine := make(map[string]bool)
	for _, one := range seen.stalled.Clients {
		if serves(w.id, seen.alive.IDs, one.Client) {
			mine[one.Client] = true
		}
	}
	return mine
}

// visited takes note of a visit, and says in the log what is new about the client.
func (w *Watchdog) visited(v *visit) {
	if isForbidden(v.failure) {
		w.denied.Store(true)
	} else if v.failure == nil {
		w.served.Store(true)
	}
	w.tally.note(func(s *Stats) { s.Skipped += int64(v.skipped) })
	if v.over {
		w.schedule.forget(v.Client)
		return
	}
	var told, warned bool
	w.schedule.change(v.Client, func(t *turn) {
		told, warned = t.told, t.warned
		t.last, t.lease, t.underWay, t.seen = time.Now(), max(v.shortest, leastLease), false, time.Now()
		if v.failure != nil {
			t.lease = 0
		}
		t.told = told || v.mine && v.pulse != ""
		t.warned = warned || v.failure != nil || v.skipped > 0
		told, warned = t.told && !told, t.warned && !warned
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

// setReachable notes whether looks are answered, with one line in the log for each change.
func (w *Watchdog) setReachable(err error) {
	switch {
	case err != nil:
		w.failed(1)
		if !w.blind {
			what := "Redis does not answer: nobody's holds are renewed"
			if isAnswer(err) {
				what = "Redis refuses to say who is stalled: nobody's holds are renewed"
			}
			w.log.Error(what, "reason", protocol.Line(err.Error()))
		}
	case w.blind:
		w.log.Info("Redis answers again")
	}
	w.blind = err != nil
}

// setListed notes whether Redis lists this watchdog, with one line for each change.
func (w *Watchdog) setListed(err error) {
	switch {
	case err != nil:
		w.failed(1)
		if !w.unsaid {
			w.log.Error("Redis refuses to list this watchdog: it works on, and clients do not count on it", "reason", protocol.Line(err.Error()))
		}
	case w.unsaid:
		w.log.Info("Redis lists this watchdog again")
	}
	w.unsaid = err != nil
}

// setAble notes whether this watchdog may do its work, with one line for each change. One
// that Redis forbids to do it counts itself out. One that cannot reach a server does not:
// what is there, the clients miss by themselves, and the others are served.
func (w *Watchdog) setAble(stalled bool) {
	served, denied := w.served.Swap(false), w.denied.Swap(false)
	able := w.able
	switch {
	case served || !stalled:
		able = true
	case denied:
		able = false
	}
	switch {
	case able && !w.able:
		w.log.Info("stalled clients can be served again")
	case !able && w.able:
		w.log.Error("Redis forbids to serve stalled clients: leaving them to other watchdogs, and trying on")
	}
	w.able = able
}

// failed counts requests that were refused or not answered.
func (w *Watchdog) failed(n int) { w.tally.note(func(s *Stats) { s.Failures += int64(n) }) }

// leave tells the others not to count on this one. If that does not get through, they find
// out by themselves.
func (w *Watchdog) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), w.config.CommandTimeout)
	defer cancel()
	_, _ = w.runner.Run(ctx, script.WatchdogHeartbeat(w.id, 0))
}
