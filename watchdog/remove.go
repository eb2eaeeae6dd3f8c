package watchdog

import (
	"context"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// reason is why a session is removed.
type reason string

const (
	isDead        reason = "its process is gone"
	pausedTooLong reason = "it was paused for too long"
)

// remove takes sessions away, and leaves their locks to their leases. First what they hold
// and then that they exist: where the watchdog dies between the two, something is left that
// is still found. A client that has beaten meanwhile stays, and writes its session anew.
func (w *Watchdog) remove(ctx context.Context, sessions []*session) {
	drops := make([]question, len(sessions))
	for i, s := range sessions {
		drops[i] = question{protocol.SessionKey(s.Client), script.SessionDrop(s.Client)}
	}
	var dropped []*session
	var ends []question
	for i, reply := range w.ask(ctx, drops) {
		s := sessions[i]
		if s.err = reply.Err; s.err == nil {
			dropped = append(dropped, s)
			ends = append(ends, question{protocol.Sessions, script.SessionEndOverdue(s.Client, s.Due)})
			continue
		}
		w.failed(1)
	}
	for i, reply := range w.ask(ctx, ends) {
		w.removed(dropped[i], reply)
	}
}

// removed takes the answer for one session.
func (w *Watchdog) removed(s *session, reply driver.Reply) {
	n, err := script.ReadCount(reply)
	if s.err = err; err != nil {
		w.failed(1)
		return
	}
	delete(w.schedule, s.Client)
	if n == 0 { // another watchdog was faster, or the client runs again
		return
	}
	w.log.Info("session removed", "client", s.Client, "reason", string(s.end))
	w.tally.note(func(stats *Stats) {
		if s.end == isDead {
			stats.Dead++
		} else {
			stats.LetGo++
		}
	})
}
