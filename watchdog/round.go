package watchdog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// session is a stalled client's, as one round finds it.
type session struct {
	script.Stalled
	entries []script.SessionEntry
	over    []string // the keys of entries that are no use any more
	end     reason   // why it is to be removed
	err     error    // what could not be done
}

// round serves some sessions once. The error tells why not all of it could be done: a
// watchdog that cannot reach what it is to serve leaves it to others.
func (w *Watchdog) round(ctx context.Context, seen view, batch []script.Stalled, mine map[string]bool) error {
	if len(batch) == 0 {
		return nil
	}
	var open, over []*session
	for _, one := range batch {
		s := &session{Stalled: one}
		if seen.now.Sub(one.Due) > w.config.MaxPause {
			s.end = pausedTooLong
			over = append(over, s)
			continue
		}
		open = append(open, s)
	}
	w.read(ctx, open)
	paused, dead := w.feel(ctx, open)
	w.renew(ctx, seen, paused)
	w.tidy(ctx, paused)
	w.remove(ctx, append(over, dead...))
	for _, s := range paused {
		w.plan(s, mine[s.Client])
	}
	for _, s := range append(open, over...) {
		if s.err != nil {
			return fmt.Errorf("client %s: %w", s.Client, s.err)
		}
	}
	return nil
}

// read reads the sessions.
func (w *Watchdog) read(ctx context.Context, sessions []*session) {
	questions := make([]question, len(sessions))
	for i, s := range sessions {
		questions[i] = question{protocol.SessionKey(s.Client), script.SessionRead(s.Client)}
	}
	for i, reply := range w.ask(ctx, questions) {
		s := sessions[i]
		s.entries, s.over, s.err = script.ReadSession(reply)
		var refused *driver.ServerError
		if errors.As(s.err, &refused) && refused.Code() == "WRONGTYPE" {
			s.err = nil // somebody else's key: there is nothing in it to renew
		}
	}
}

// feel asks for the pulses, as late as possible before the renewal. Sessions of which
// something is not known are in neither part.
func (w *Watchdog) feel(ctx context.Context, sessions []*session) (paused, dead []*session) {
	clients := make([]string, len(sessions))
	for i, s := range sessions {
		clients[i] = s.Client
	}
	for i, reply := range w.pulses(ctx, clients) {
		s := sessions[i]
		s.err = errors.Join(s.err, reply.Err)
		switch {
		case s.err != nil:
			w.failed(1)
		case beats(reply):
			paused = append(paused, s)
		default:
			s.end = isDead
			dead = append(dead, s)
		}
	}
	return paused, dead
}

// tidy takes out of the sessions what is no use any more, and keeps them from expiring.
func (w *Watchdog) tidy(ctx context.Context, sessions []*session) {
	var questions []question
	for _, s := range sessions {
		key := protocol.SessionKey(s.Client)
		if len(s.over) > 0 {
			questions = append(questions, question{key, script.SessionForget(s.Client, s.over...)})
		}
		questions = append(questions, question{key, script.SessionTouch(s.Client, s.keep())})
	}
	for _, reply := range w.ask(ctx, questions) {
		if reply.Err != nil {
			w.failed(1) // the next round does it again
		}
	}
}

// keep is for how long a session outlives its last renewal: for longer than its locks do,
// and the client's own rule.
func (s *session) keep() time.Duration {
	longest := time.Duration(0)
	for _, e := range s.entries {
		longest = max(longest, e.Lease)
	}
	return 2 * longest
}

// every is how often a session is served: its shortest lease must outlive the death of the
// watchdog that serves it. One without locks is served in order to see it die.
func (s *session) every() time.Duration {
	shortest := 8 * time.Second
	for _, e := range s.entries {
		shortest = min(shortest, e.Lease)
	}
	return shortest / 4
}

// plan notes when the session is to be served next, and says so in the log if it is new to
// this watchdog. One that was not served whole comes up again at the next look.
func (w *Watchdog) plan(s *session, mine bool) {
	next := visit{at: time.Now().Add(s.every()), mine: mine}
	if s.err != nil {
		next.at = time.Now()
	}
	if mine && !w.schedule[s.Client].mine {
		w.log.Info("client is paused: renewing its holds", "client", s.Client, "holds", len(s.entries))
	}
	w.schedule[s.Client] = next
}
