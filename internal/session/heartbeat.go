package session

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/signal"
)

// maxTold is how many keys one call tells of, and maxCalls how many such calls one request has.
const maxTold, maxCalls = 500, 20

// loop sends heartbeats, and tells Redis of unconfirmed keys, until the session ends.
func (s *Session) loop() {
	interval := s.interval()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		due := false
		select {
		case <-timer.C:
			due = true
		case <-s.kick:
			select { // both may be there: it does not matter which is seen first
			case <-timer.C:
				due = true
			default:
			}
		case <-s.ctx.Done():
			return
		}
		if due {
			timer.Reset(interval)
		}
		if pulse, _ := s.currentPulse(); due || pulse != s.told {
			s.heartbeat()
		}
		s.tell()
	}
}

// heartbeat says that the process runs and names its pulse. It checks that Redis has the
// session.
func (s *Session) heartbeat() {
	pulse, why := s.currentPulse()
	calls := []script.Call{
		script.SessionHeartbeat(s.settings.Client, s.settings.Lease/4),
		script.SessionTouch(s.settings.Client, s.ttl(), pulse),
	}
	waits, tell := s.waitsCall()
	if tell {
		calls = append(calls, waits)
	}
	asked := time.Now()
	results, _ := s.settings.Runner.RunAll(s.ctx, calls...)
	arrived := time.Now()
	if tell {
		s.waitsAnswered(results[2])
	}
	found, err := script.ReadHeartbeat(results[0].Reply)
	size, failed := script.ReadCount(results[1].Reply)
	if err = cmp.Or(err, failed); err != nil {
		s.missed(err)
		return
	}
	s.mu.Lock()
	s.now, s.nowAt, s.asked = found.Now, arrived, asked
	s.mu.Unlock()
	anew, told := s.registry.reached()
	s.told = pulse
	s.count(found.Watchdogs, !anew, why)
	if s.told != "" {
		s.open()
	}
	if anew || found.Joined || size != told {
		s.rewrite()
	}
}

// missed notes a request that was not answered. Until a heartbeat is answered, Redis is not told of holds, and nothing is
// kept for it.
func (s *Session) missed(err error) {
	s.registry.unreachable()
	if s.unguarded++; s.unguarded >= maxUnguarded {
		s.watchdogs.Store(0)
		s.guarded.Store(false)
	}
	if s.ctx.Err() == nil {
		s.report("no answer to the heartbeat", err)
	}
}

// maxUnguarded is after how many heartbeats in a row without a watchdog, or without a pulse, the
// client counts as unguarded. Together they take half a lease. A watchdog that is late for a
// moment, on a busy machine, still counts. If the client believes for too long in a watchdog
// that is dead, a paused holder asks Redis once whether it still has its locks: that is all.
const maxUnguarded = 3

// count notes how many watchdogs are alive, and reports when the last one has gone and when one
// is back. Without a pulse no watchdog can renew for this client.
func (s *Session) count(watchdogs int, reachable bool, why error) {
	s.watchdogs.Store(int64(watchdogs))
	s.unguarded++
	switch {
	case watchdogs > 0 && s.told != "":
		s.unguarded = 0
	case !reachable:
		s.unguarded = maxUnguarded
	}
	s.guarded.Store(s.unguarded < maxUnguarded)
	switch {
	case s.unguarded == 0:
		s.report(isProtected, nil)
	case s.told == "" && (why != nil || reachable): // the first pulse may not be acknowledged yet
		s.report("no pulse", why)
	case s.told != "" && s.unguarded >= maxUnguarded:
		s.report("no watchdog is alive", nil)
	}
}

const isProtected = "protected"

// report logs whether the client is protected, and if not, why. It logs nothing twice in a row.
func (s *Session) report(state string, why error) {
	if state == s.state {
		return
	}
	s.state = state
	log := s.settings.Logger.With("client", s.settings.Client)
	switch {
	case state == isProtected:
		log.Info("redlatch: protected", "watchdogs", s.watchdogs.Load())
	case why == nil:
		log.Warn("redlatch: without protection: " + state)
	default:
		log.Warn("redlatch: without protection: "+state, "error", why)
	}
}

// rewrite removes the session in Redis and writes it anew.
func (s *Session) rewrite() {
	s.registry.forget()
	s.tell(script.SessionDrop(s.settings.Client), script.SessionTouch(s.settings.Client, s.ttl(), s.told))
}

// tell sends some calls, and behind them what the registry says of some unconfirmed keys. If Redis answers, the loop tells
// of the others. A heartbeat may be due before: in a busy client there are always some.
func (s *Session) tell(calls ...script.Call) {
	said, forgets := s.registry.take(maxTold * maxCalls)
	notes := make([]script.SessionEntry, 0, len(said))
	for _, key := range slices.Sorted(maps.Keys(said)) { // so that a simulation can be repeated
		notes = append(notes, s.byServerClock(said[key]))
	}
	slices.Sort(forgets)
	for some := range slices.Chunk(notes, maxTold) {
		calls = append(calls, script.SessionNote(s.settings.Client, s.ttl(), some...))
	}
	for some := range slices.Chunk(forgets, maxTold) {
		calls = append(calls, script.SessionForget(s.settings.Client, some...))
	}
	if len(calls) == 0 {
		return
	}
	results, err := s.settings.Runner.RunAll(s.ctx, calls...)
	for _, result := range results {
		err = cmp.Or(err, result.Reply.Err)
	}
	if err != nil {
		s.missed(err)
		return
	}
	signal.Send(s.kick)
}
