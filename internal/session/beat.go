package session

import (
	"cmp"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// most is how many keys one request tells of.
const most = 500

// loop beats, and tells Redis what it may not know, until the session ends.
func (s *Session) loop() {
	interval := s.settings.Lease / 6
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			timer.Reset(interval)
			s.beat()
		case <-s.kick:
			if pulse, _ := s.currentPulse(); pulse != s.told {
				s.beat()
			}
		case <-s.ctx.Done():
			return
		}
		s.tell()
	}
}

// beat says that the process runs and names its pulse, and looks whether Redis has the
// session.
func (s *Session) beat() {
	since := s.registry.mark()
	known := s.beating.Load()
	pulse, why := s.currentPulse()
	results, _ := s.settings.Runner.RunAll(s.ctx,
		script.SessionBeat(s.settings.Client, s.settings.Lease/4),
		script.SessionTouch(s.settings.Client, s.ttl(), pulse))
	arrived := time.Now()
	heard, err := script.ReadHeard(results[0].Reply)
	size, failed := script.ReadCount(results[1].Reply)
	if err = cmp.Or(err, failed); err != nil {
		s.missed(err)
		return
	}
	s.mu.Lock()
	s.now, s.nowAt = heard.Now, arrived
	s.mu.Unlock()
	s.beating.Store(true)
	s.told = pulse
	s.count(heard.Watchdogs, known, why)
	if s.told != "" {
		s.open()
	}
	switch few, many := s.registry.differs(since, size); {
	case many, !known && size > 0: // what left while nothing was told may still be there
		s.rewrite()
	case few || heard.Joined || !known: // while nothing was told, entries were made
		s.registry.doubtAll()
	}
}

// rewrite makes the session forget what is none of its entries. What was entered while it
// did so may be forgotten, too, and is told again.
func (s *Session) rewrite() {
	s.registry.doubtAll()
	said := s.registry.doubts(most)
	err := s.send(said,
		script.SessionDrop(s.settings.Client), script.SessionTouch(s.settings.Client, s.ttl(), s.told))
	s.registry.told(said, err == nil)
	s.registry.doubtAll()
	if err != nil {
		s.missed(err)
	}
}

// missed takes note of a beat that was not answered. Until one is, Redis is not told of
// holds: where it is another server of a cluster that does not answer, they would wait for
// it.
func (s *Session) missed(err error) {
	s.beating.Store(false)
	if s.quiet++; s.quiet >= quietBeats { // nobody was heard of
		s.watchdogs.Store(0)
		s.guarded.Store(false)
	}
	if s.ctx.Err() == nil {
		s.report("no answer to the heartbeat", err)
	}
}

// quietBeats is after how many beats in a row that knew no watchdog, or had no pulse, there
// is none: together half of a lease. One that is late for a moment, on a busy machine, is
// not dead, and to believe for too long in one that is costs a paused holder no more than
// the question whether it still has its locks.
const quietBeats = 3

// count takes note of how many watchdogs are alive, and says so when the last one has gone
// and when one is back. Without a pulse none of them can renew for this client.
func (s *Session) count(watchdogs int, known bool, why error) {
	s.watchdogs.Store(int64(watchdogs))
	s.quiet++
	switch {
	case watchdogs > 0 && s.told != "":
		s.quiet = 0
	case !known:
		s.quiet = quietBeats
	}
	s.guarded.Store(s.quiet < quietBeats)
	switch {
	case s.quiet == 0:
		s.report(isProtected, nil)
	case s.told == "" && (why != nil || known): // it may still be on its way to the first one
		s.report("no pulse", why)
	case s.told != "" && s.quiet >= quietBeats:
		s.report("no watchdog is alive", nil)
	}
}

const isProtected = "protected"

// report says in the log whether the client is protected, and if not, why. It says nothing
// twice in a row.
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

// tell tells Redis what the registry says of unsure keys, until there are none or Redis
// does not answer.
func (s *Session) tell() {
	for s.beating.Load() {
		said := s.registry.doubts(most)
		if len(said) == 0 {
			return
		}
		err := s.send(said)
		s.registry.told(said, err == nil)
		if err != nil {
			s.missed(err)
			return
		}
	}
}

// send tells Redis of doubts, after some calls.
func (s *Session) send(said map[string]entry, calls ...script.Call) error {
	var notes []script.SessionEntry
	var forgets []string
	for key, e := range said {
		if e.version > 0 {
			notes = append(notes, s.stamped(e.SessionEntry))
		} else {
			forgets = append(forgets, key)
		}
	}
	if len(notes) > 0 {
		calls = append(calls, script.SessionNote(s.settings.Client, s.ttl(), notes...))
	}
	if len(forgets) > 0 {
		calls = append(calls, script.SessionForget(s.settings.Client, forgets...))
	}
	results, err := s.settings.Runner.RunAll(s.ctx, calls...)
	for _, result := range results {
		err = cmp.Or(err, result.Reply.Err)
	}
	return err
}
