package watchdog

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The bounds of what one client can make a watchdog do. A lock is one key, and so is each
// hold of a reader.
const (
	mostKeys  = 100_000 // of one session, at one visit
	mostParts = 1000    // that one session is read in
	lightKeys = 100     // of a session that is not large
	partKeys  = 1000    // of one request for a large one, roughly
)

// noLease is the lease of a client that holds nothing: it is visited to see it die.
const noLease = 8 * time.Second

// leastKeep is for how long a session outlives a visit, at least.
const leastKeep = time.Minute

// visit is what is done for one stalled client at one time. It trusts nothing that the
// client's session says.
type visit struct {
	*Watchdog
	script.Stalled
	seen view
	mine bool

	pulse             string // that the session names
	keys              int    // that were asked for
	holds, skipped    int    // entries that were renewed, and that are not to be
	shortest, longest time.Duration
	failure           error // the first thing that could not be done
	over              bool  // the client is not waited for any more
	large             bool  // it has a place in the lane, and none among the others
}

// serve does what is to be done for the client. What could not be done is its failure.
func (v *visit) serve(ctx context.Context) {
	page, err := v.read(ctx, "0")
	if v.seen.now.Sub(v.Due) > v.config.MaxPause {
		v.remove(ctx, page.Pulse, pausedTooLong)
		return
	}
	alive := false
	if err == nil {
		alive, err = v.pulsing(ctx, v.Client, page.Pulse)
	}
	switch {
	case err != nil:
		v.fail(err)
	case !alive:
		v.remove(ctx, page.Pulse, isDead)
	default:
		v.pulse = page.Pulse
		v.renewAll(ctx, page)
	}
}

// renewAll renews what the session speaks of, part by part, until its client names another
// pulse: then it runs again.
func (v *visit) renewAll(ctx context.Context, page script.SessionPage) {
	for range mostParts {
		v.renewPart(ctx, page)
		from, more := page.Next()
		if !more {
			return
		}
		if v.keys >= mostKeys || v.failure == errBusy {
			break
		}
		var err error
		if page, err = v.read(ctx, from); err != nil {
			v.fail(err)
			return
		}
		if page.Pulse != v.pulse {
			return
		}
	}
	v.skipped++ // whatever else there is
}

// read reads a part of the session. A key of another type has nothing to renew.
func (v *visit) read(ctx context.Context, from string) (script.SessionPage, error) {
	key := protocol.SessionKey(v.Client)
	page, err := script.ReadSession(v.ask(ctx, question{key, script.SessionRead(v.Client, from)})[0].Reply)
	if isCode(err, "WRONGTYPE") {
		return script.ReadSession(driver.Reply{Array: []driver.Reply{{Str: "0"}, {Int: 1}, {}}})
	}
	return page, err
}

// renewPart renews what one part speaks of, some keys at a time, and takes out of the
// session what is no use any more.
func (v *visit) renewPart(ctx context.Context, page script.SessionPage) {
	odd := page.Skipped + len(page.Odd)
	v.skipped += odd
	var gone []string
	for rest := page.Entries; odd > 0 || len(rest) > 0; {
		n, keys := 0, odd // what is skipped costs Redis as much
		odd = 0
		for n < len(rest) && keys < partKeys {
			keys += rest[n].Keys()
			n++
		}
		if v.keys += keys; v.keys > mostKeys {
			v.skipped += len(rest)
			break
		}
		if v.keys > lightKeys && !v.isLarge() {
			v.fail(errBusy)
			break
		}
		leave := v.enterLane(keys)
		gone = append(gone, v.renew(ctx, rest[:n])...)
		leave(ctx)
		rest = rest[n:]
	}
	v.keep(ctx, gone)
}

// renew raises the leases of some entries, each only for an owner of this client, and
// returns the keys of those that are no use any more.
func (v *visit) renew(ctx context.Context, entries []script.SessionEntry) (gone []string) {
	now := v.seen.now.Add(time.Since(v.seen.at))
	var keys []string
	var questions []question
	for _, e := range entries {
		if !protocol.OwnField(v.Client, e.Field) {
			v.skipped++
			continue
		}
		call, more := script.SessionRenew(e, now)
		if !more { // WithMaxHold: nobody renews it any more
			gone = append(gone, e.Key())
			continue
		}
		v.shortest, v.longest = min(v.shortest, e.Lease), max(v.longest, e.Lease)
		keys, questions = append(keys, e.Key()), append(questions, question{e.Lock, call})
	}
	renewed := 0
	for i, result := range v.ask(ctx, questions...) {
		switch n, err := script.ReadCount(result.Reply); {
		case err != nil:
			v.refused(err)
		case n == 0:
			gone = append(gone, keys[i])
		default:
			renewed++
		}
	}
	v.holds += renewed
	v.tally.note(func(s *Stats) {
		s.Gone += int64(len(gone))
		s.Renewals += int64(renewed)
	})
	return gone
}

// refused takes note of a renewal that failed. One that the server forbids will not succeed
// if it is tried sooner.
func (v *visit) refused(err error) {
	if !isCode(err, "NOPERM") {
		v.fail(err)
		return
	}
	v.failed(1)
	v.skipped++
}

// keep keeps the session from expiring, for longer than its locks.
func (v *visit) keep(ctx context.Context, gone []string) {
	ttl := max(2*v.longest, leastKeep)
	call := script.SessionKeep(v.Client, v.pulse, ttl, gone...)
	_, err := script.ReadCount(v.ask(ctx, question{protocol.SessionKey(v.Client), call})[0].Reply)
	if err != nil {
		v.fail(err)
	}
}

// reason is why a client is not waited for any more.
type reason string

const (
	isDead        reason = "its process is gone"
	pausedTooLong reason = "it was paused for too long"
)

// remove takes a session away if it names this pulse, and leaves its locks to their leases.
// First what it holds and then that it exists: where the watchdog dies between the two,
// something is left that is still found. A client that has beaten meanwhile stays, and
// writes its session anew. A session that cannot be reached expires by itself.
func (v *visit) remove(ctx context.Context, pulse string, why reason) {
	if pulse != "" {
		call := script.SessionRemove(v.Client, pulse)
		if err := v.ask(ctx, question{protocol.SessionKey(v.Client), call})[0].Reply.Err; err != nil && why == isDead {
			v.fail(err)
			return
		}
	}
	n, err := script.ReadCount(v.ask(ctx, question{protocol.Sessions, script.SessionEndOverdue(v.Stalled)})[0].Reply)
	if err != nil {
		v.fail(err)
		return
	}
	v.over = true
	if n == 0 { // another watchdog was faster, or the client runs again
		return
	}
	v.log.Info("session removed", "client", protocol.Show(v.Client), "reason", string(why))
	v.tally.note(func(stats *Stats) {
		if why == isDead {
			stats.Dead++
		} else {
			stats.LetGo++
		}
	})
}

// fail takes note of what could not be done.
func (v *visit) fail(err error) {
	v.failed(1)
	if v.failure == nil {
		v.failure = err
	}
}

// isForbidden says whether the server's ACL forbids a command. Inside of a script Redis says
// that in words, which differ by release.
func isForbidden(err error) bool {
	var refused *driver.ServerError
	if !errors.As(err, &refused) {
		return false
	}
	return refused.Code() == "NOPERM" || strings.Contains(refused.Message, "The user executing the script") ||
		strings.Contains(refused.Message, "ACL failure in script")
}

func isCode(err error, code string) bool {
	var refused *driver.ServerError
	return errors.As(err, &refused) && refused.Code() == code
}
