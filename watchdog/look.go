package watchdog

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// maxStalled is how many stalled clients a look can see; those that are overdue for
// longest. When half a cluster stands still there may be more, who then are seen when some
// of these have come back or were let go.
const maxStalled = 20_000

// roundSize is how many sessions are served between two looks. If there are more, the next
// look follows at once: a watchdog that is busy must not seem dead.
const roundSize = 200

// view is what a look has seen.
type view struct {
	at      time.Time // on this machine's clock, before the look left
	now     time.Time // by Redis's clock
	alive   []string  // watchdogs
	stalled []script.Stalled
}

// look is one look at Redis. It costs the same for any number of locks and clients, as
// long as these run.
func (w *Watchdog) look(ctx context.Context) (view, error) {
	aliveFor := w.config.aliveFor()
	if !w.able {
		aliveFor = 0
	}
	results, err := w.runner.RunAll(ctx, script.WatchdogBeat(w.id, aliveFor), script.SessionsStalled(maxStalled))
	if err != nil {
		return view{}, err
	}
	seen := view{at: results[0].Asked}
	if _, seen.alive, err = script.ReadWatchdogs(results[0].Reply); err != nil {
		return view{}, err
	}
	seen.now, seen.stalled, err = script.ReadStalled(results[1].Reply)
	return seen, err
}

// turn is a look and what follows from it. It reports whether there is more to do at once.
func (w *Watchdog) turn(ctx context.Context) (more bool) {
	seen, err := w.look(ctx)
	if ctx.Err() != nil {
		return false
	}
	w.see(err)
	if err != nil {
		return false
	}
	for _, client := range w.schedule.retain(seen.stalled) {
		w.log.Info("client is not stalled any more", "client", client)
	}
	mine := w.share(seen)
	w.tally.note(func(s *Stats) {
		s.Looks++
		s.LastLook = time.Now()
		s.Watchdogs, s.Stalled, s.Serving = len(seen.alive), len(seen.stalled), len(mine)
	})
	ripe := w.schedule.ripe(seen.stalled, time.Now(), func(client string) bool { return mine[client] })
	batch := ripe[:min(len(ripe), roundSize)]
	w.judge(w.round(ctx, seen, batch, mine))
	return w.able && len(ripe) > len(batch)
}

// share is what this watchdog serves of what it has seen.
func (w *Watchdog) share(seen view) map[string]bool {
	mine := make(map[string]bool)
	for _, one := range seen.stalled {
		if serves(w.id, seen.alive, one.Client) {
			mine[one.Client] = true
		}
	}
	return mine
}

// see notes whether looks are answered, with one line in the log for each change.
func (w *Watchdog) see(err error) {
	switch {
	case err != nil:
		w.failed(1)
		if !w.blind {
			w.log.Error("Redis does not answer: nobody's holds are renewed", "reason", err.Error())
		}
	case w.blind:
		w.log.Info("Redis answers again")
	}
	w.blind = err != nil
}

// judge notes whether this watchdog can do its work, with one line for each change.
func (w *Watchdog) judge(err error) {
	switch able := err == nil; {
	case able && !w.able:
		w.log.Info("all stalled clients can be served again")
	case !able && w.able:
		w.log.Error("a stalled client cannot be served: leaving it to other watchdogs, and trying on", "reason", err.Error())
	}
	w.able = err == nil
}

// failed counts requests that were refused or not answered.
func (w *Watchdog) failed(n int) { w.tally.note(func(s *Stats) { s.Failures += int64(n) }) }

// leave tells the others not to count on this one. If that does not get through, they find
// out by themselves.
func (w *Watchdog) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), w.config.CommandTimeout)
	defer cancel()
	_, _ = w.runner.Run(ctx, script.WatchdogBeat(w.id, 0))
}
