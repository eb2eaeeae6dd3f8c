package watchdog

import (
	"cmp"
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The bounds of the work that one client can cause. A lock is one key, and so is each hold of a
// reader.
const (
	maxKeys   = 100_000 // of one session, at one visit
	maxParts  = 1000    // in which one session is read
	smallKeys = 100     // a session with more keys is large
	partKeys  = 1000    // in one request for a large session, roughly
)

// noLease is the lease of a client that holds nothing: it is visited to see it die.
const noLease = 8 * time.Second

// minKeep is for how long a session outlives a visit, at least.
const minKeep = time.Minute

// visit is what is done for one stalled client at one time. It trusts nothing that the
// client's session says.
type visit struct {
	*Watchdog
	appointment
	seen view

	pulse             string        // as the session names it
	keys              int           // of the requests so far
	holds, skipped    int           // entries that were renewed, and entries that are never renewed
	shortest, longest time.Duration // leases of these entries; 0 if there is none
	failure           error         // the first error
	over              bool          // the session was removed
	large             bool          // it has a place in the lane instead of a slot
}

// serve renews the client's holds, or removes its session. Its first error is its failure.
func (v *visit) serve(ctx context.Context) {
	page, err := v.read(ctx, "0")
	if v.seen.Now.Sub(v.Due) > v.config.MaxPause {
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

// renewAll renews the entries of the session, part by part. It stops if the session names another
// pulse, because then the client runs again.
func (v *visit) renewAll(ctx context.Context, page script.SessionPage) {
	for range maxParts {
		v.renewPart(ctx, page)
		from, more := page.Next()
		if !more {
			return
		}
		if v.keys >= maxKeys || v.failure == errBusy {
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
	v.skipped++ // the rest of the session
}

// read reads a part of the session. A key of another type counts as a session without entries.
func (v *visit) read(ctx context.Context, from string) (script.SessionPage, error) {
	page, err := script.ReadSession(v.ask(ctx, script.SessionRead(v.Client, from))[0].Reply)
	if script.Code(err) == "WRONGTYPE" {
		return script.ReadSession(driver.Reply{Array: []driver.Reply{{Str: "0"}, {Int: 1}, {}}})
	}
	return page, err
}

// renewPart renews the entries of one part, some keys at a time. It removes the entries from the
// session that need no renewal any more.
func (v *visit) renewPart(ctx context.Context, page script.SessionPage) {
	odd := page.Skipped + len(page.Odd)
	v.skipped += odd
	var gone []string
	for rest := page.Entries; odd > 0 || len(rest) > 0; {
		n, keys := 0, odd // skipped entries cost Redis as much
		odd = 0
		for n < len(rest) && keys < partKeys {
			keys += rest[n].Keys()
			n++
		}
		if v.keys += keys; v.keys > maxKeys {
			v.skipped += len(rest)
			break
		}
		if v.keys > smallKeys && !v.becomeLarge() {
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

// renew raises the leases of some entries, each only for an owner of this client. It returns the
// keys of the entries that need no renewal any more.
func (v *visit) renew(ctx context.Context, entries []script.SessionEntry) (gone []string) {
	now := v.seen.Now.Add(time.Since(v.seen.at))
	var keys []string
	var calls []script.Call
	for _, e := range entries {
		if !protocol.OwnField(v.Client, e.Field) {
			v.skipped++
			continue
		}
		call, more := script.SessionRenew(e, now)
		if !more { // its maximum hold time (WithMaxHold) is over
			gone = append(gone, e.Key())
			continue
		}
		v.shortest, v.longest = min(cmp.Or(v.shortest, e.Lease), e.Lease), max(v.longest, e.Lease)
		keys, calls = append(keys, e.Key()), append(calls, call)
	}
	renewed := 0
	for i, result := range v.ask(ctx, calls...) {
		switch n, err := script.ReadCount(result.Reply); {
		case err != nil:
			v.noteRefusal(err)
		case n == 0:
			gone = append(gone, keys[i])
		default:
			renewed++
		}
	}
	v.holds += renewed
	v.counters.note(func(s *Stats) {
		s.Gone += int64(len(gone))
		s.Renewals += int64(renewed)
	})
	return gone
}

// noteRefusal notes a renewal that failed. One that the server forbids only counts as skipped: a
// sooner visit would not help.
func (v *visit) noteRefusal(err error) {
	if script.Code(err) != "NOPERM" {
		v.fail(err)
		return
	}
	v.failed(1)
	v.skipped++
}

// keep makes the session outlive its locks, and removes entries from it.
func (v *visit) keep(ctx context.Context, gone []string) {
	ttl := max(2*v.longest, minKeep)
	call := script.SessionKeep(v.Client, v.pulse, ttl, gone...)
	_, err := script.ReadCount(v.ask(ctx, call)[0].Reply)
	if err != nil {
		v.fail(err)
	}
}

// reason is why a session is removed.
type reason string

const (
	isDead        reason = "its process is gone"
	pausedTooLong reason = "it was paused for too long"
)

// remove removes a session if it names this pulse. Its locks end with their leases. The session
// is removed first and the heartbeat last: if the watchdog dies between the two, another one
// still finds the client. A client that has sent a heartbeat meanwhile stays, and writes its
// session anew. A session that cannot be reached expires by itself.
func (v *visit) remove(ctx context.Context, pulse string, why reason) {
	if pulse != "" {
		call := script.SessionRemove(v.Client, pulse)
		if err := v.ask(ctx, call)[0].Reply.Err; err != nil && why == isDead {
			v.fail(err)
			return
		}
	}
	n, err := script.ReadCount(v.ask(ctx, script.SessionsEndOverdue(v.Stalled))[0].Reply)
	if err != nil {
		v.fail(err)
		return
	}
	v.over = true
	if n == 0 { // another watchdog was faster, or the client runs again
		return
	}
	v.log.Info("session removed", "client", protocol.Show(v.Client), "reason", string(why))
	v.counters.note(func(stats *Stats) {
		if why == isDead {
			stats.Dead++
		} else {
			stats.LetGo++
		}
	})
}

// fail notes an error.
func (v *visit) fail(err error) {
	v.failed(1)
	if v.failure == nil {
		v.failure = err
	}
}
