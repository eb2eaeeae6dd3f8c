package watchdog

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The budgets of one look at the default interval, in proportion for another. So the load of Redis
// does not depend on how many clients are stalled, or on what anybody has written.
const (
	maxPage   = 2000 // names that it reads of those that have just become overdue, and as many of all
	maxVisits = 1000 // visits that it begins
)

// maxActive is how many clients are visited at a time.
const maxActive = 128

// minLease is the shortest lease by which the next visit is planned.
const minLease = time.Second

// budget is a number for the default interval of looks, in proportion to this watchdog's.
func (c Config) budget(n int) int { return max(int(time.Duration(n)*c.Look/defaultLook), 10) }

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
	w.admit(ctx, seen)
	p := w.schedule.plan(time.Now(), w.config.budget(maxVisits))
	w.noteView(seen, p)
	for _, one := range p.visits {
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
			v := &visit{Watchdog: w, appointment: one, seen: seen}
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
	found
	at       time.Time // on this machine's clock, before the look left
	alive    script.Alive
	unlisted error // why Redis refuses to list this watchdog
}

// look reads which clients are stalled. It costs the same for any number of locks, and of clients
// that run or are stalled.
func (w *Watchdog) look(ctx context.Context) (view, error) {
	aliveFor := w.config.aliveFor()
	if !w.able {
		aliveFor = 0
	}
	var known []string
	if w.pages.many {
		for _, one := range w.schedule.plan(time.Now(), w.config.budget(maxVisits)).visits {
			known = append(known, one.Client)
		}
	}
	calls := w.pages.calls(known, w.config.budget(maxPage))
	results, err := w.runner.RunAll(ctx, append([]script.Call{script.WatchdogHeartbeat(w.id, aliveFor)}, calls...)...)
	if err != nil {
		return view{}, err
	}
	seen := view{at: results[0].Asked}
	// A server without free memory refuses new entries, but lets leases be raised.
	seen.alive, seen.unlisted = script.ReadWatchdogs(results[0].Reply)
	w.share(seen.alive.IDs)
	if seen.found, err = w.pages.read(results[1:], known); err != nil {
		return view{}, err
	}
	for _, client := range w.schedule.retain(seen.found, known) {
		w.log.Info("client is not stalled any more", "client", protocol.Show(client))
	}
	return seen, nil
}

// share notes which watchdogs are alive.
func (w *Watchdog) share(alive []string) {
	slices.Sort(alive)
	if !slices.Equal(alive, w.alive) {
		w.alive = alive
		w.schedule.assign(func(client string) bool { return serves(w.id, alive, client) })
	}
}

// serves says whether the watchdog id is the one among alive that serves a client. A watchdog always
// counts itself alive.
func serves(id string, alive []string, client string) bool {
	return protocol.Serving(slices.Concat([]string{id}, alive), client) == id
}

// fewNew is how many new clients are visited without asking first whether they have a session.
const fewNew = 100

// endAtOnce is how many names one script removes.
const endAtOnce = 200

// admit makes new clients known. Many of them may be invented names, or clients whose sessions have
// expired: it asks all in one request, and removes those without a pulse. If the answer does not
// come before the next look, they are visited like any others.
func (w *Watchdog) admit(ctx context.Context, seen view) {
	fresh := w.schedule.unknown(seen.Clients, time.Now())
	if len(fresh) > fewNew {
		fresh = w.sift(ctx, fresh)
	}
	w.schedule.add(fresh, time.Now())
}

// sift returns those of some clients that may have a pulse, and removes the others.
func (w *Watchdog) sift(ctx context.Context, some []script.Stalled) (left []script.Stalled) {
	limited, cancel := context.WithTimeout(ctx, w.config.Look)
	defer cancel()
	calls := make([]script.Call, len(some))
	for i, one := range some {
		calls[i] = script.SessionPulse(one.Client)
	}
	var gone []script.Stalled
	for i, result := range w.ask(limited, calls...) {
		n, err := script.ReadCount(result.Reply)
		if err == nil && n == 0 || script.Code(err) == "WRONGTYPE" {
			gone = append(gone, some[i])
		} else {
			left = append(left, some[i])
		}
	}
	w.visits.Go(func() { w.removeNames(ctx, gone) })
	return left
}

// removeNames removes clients without a session.
func (w *Watchdog) removeNames(ctx context.Context, gone []script.Stalled) {
	var calls []script.Call
	for part := range slices.Chunk(gone, endAtOnce) {
		calls = append(calls, script.SessionsEndOverdue(part...))
	}
	removed := 0
	for _, result := range w.ask(ctx, calls...) {
		if n, err := script.ReadCount(result.Reply); err == nil {
			removed += n
		}
	}
	if removed > 0 {
		w.log.Info("names without a session removed", "names", removed)
		w.counters.note(func(s *Stats) { s.Dead += int64(removed) })
	}
}

// noteView notes what a look has found.
func (w *Watchdog) noteView(seen view, p plan) {
	w.setAble(seen.All > 0)
	if pass := w.pages.passing(); pass > time.Second {
		p.late = max(p.late, pass)
	}
	w.counters.note(func(s *Stats) {
		s.Looks++
		s.LastLook = time.Now()
		s.Skipped += int64(seen.Skipped)
		s.Watchdogs, s.Stalled, s.Serving, s.Late = seen.alive.Count, seen.All, p.serving, p.late
	})
}

// visited notes a visit, and logs what is new about the client.
func (w *Watchdog) visited(v *visit) {
	if script.Forbidden(v.failure) {
		w.denied.Store(true)
	} else if v.failure == nil {
		w.served.Store(true)
	}
	lease := max(cmp.Or(v.shortest, noLease), minLease)
	w.counters.note(func(s *Stats) {
		s.Skipped += int64(v.skipped)
		if v.holds > 0 && time.Since(v.due) > lease/4 {
			s.LateVisits++
		}
	})
	if v.over {
		w.schedule.forget(v.Client)
		return
	}
	var told, warned bool
	w.schedule.change(v.Client, func(r *record) {
		told, warned = r.told, r.warned
		r.last, r.lease, r.underWay = time.Now(), lease, false
		switch {
		case v.holds > 0:
			r.kind = holding
		case v.failure != nil:
			r.kind = failed
		default:
			r.kind = idle
		}
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
