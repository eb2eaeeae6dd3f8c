package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	sessionNoteScript   = load("session_note")
	sessionForgetScript = load("session_forget")
	sessionTouchScript  = load("session_touch")
	sessionReadScript   = load("session_read")
	sessionDropScript   = load("session_drop")
	sessionBeatScript   = load("session_beat")
	sessionEndScript    = load("session_end")
)

// SessionEntry is one tenure in a client's session.
type SessionEntry struct {
	Field string        // of the owner, in the lock's hash
	Lock  string        // its key
	Read  bool          // on the read side of a read-write lock
	Count int           // the highest number of holds that Redis may have been told
	Lease time.Duration // that a renewal sets
	Until time.Time     // by the server's clock: beyond it nobody renews; zero for no such moment
}

// Key names the entry within its session.
func (e SessionEntry) Key() string { return protocol.SessionField(e.Field, e.Lock) }

// Renewal is how the entry is renewed at a moment of the server's clock. It reports false
// if that is over.
func (e SessionEntry) Renewal(now time.Time) (Renewal, bool) {
	r := Renewal{Lock: e.Lock, Field: e.Field, Lease: e.Lease}
	if !e.Until.IsZero() {
		r.Lease = min(e.Lease, e.Until.Sub(now))
	}
	if e.Read {
		r.Holds = make([]string, e.Count)
		for i := range r.Holds {
			r.Holds[i] = protocol.ReadTimeoutKey(e.Lock, e.Field, i+1)
		}
	}
	return r, r.Lease >= time.Millisecond // a lease of 0 would free the lock
}

func (e SessionEntry) value() string {
	v := protocol.SessionEntry{Read: e.Read, Count: e.Count, LeaseMillis: e.Lease.Milliseconds()}
	if !e.Until.IsZero() {
		v.UntilMillis = e.Until.UnixMilli()
	}
	return v.String()
}

// SessionNote writes entries into a client's session, which then outlives the call by ttl.
func SessionNote(client string, ttl time.Duration, entries ...SessionEntry) Call {
	words := make([]string, 0, 2+2*len(entries))
	words = append(words, protocol.SessionKey(client), millis(ttl))
	for _, e := range entries {
		words = append(words, e.Key(), e.value())
	}
	return sessionNoteScript.call(1, words...)
}

// SessionForget removes entries, by their keys, from a client's session.
func SessionForget(client string, keys ...string) Call {
	words := make([]string, 0, 1+len(keys))
	words = append(words, protocol.SessionKey(client))
	return sessionForgetScript.call(1, append(words, keys...)...)
}

// SessionTouch lets a client's session outlive the call by ttl. ReadCount reads the reply:
// how many entries it has.
func SessionTouch(client string, ttl time.Duration) Call {
	return sessionTouchScript.call(1, protocol.SessionKey(client), millis(ttl))
}

// SessionRead reads a client's session.
func SessionRead(client string) Call {
	return sessionReadScript.call(1, protocol.SessionKey(client))
}

// SessionDrop removes a client's session. ReadCount reads the reply: whether there was one.
func SessionDrop(client string) Call {
	return sessionDropScript.call(1, protocol.SessionKey(client))
}

// ReadCount reads a reply that counts.
func ReadCount(r driver.Reply) (int, error) {
	if r.Err != nil {
		return 0, r.Err
	}
	if n, plain := number(r); plain && n >= 0 {
		return int(n), nil
	}
	return 0, unexpected(sessionTouchScript, r)
}

// ReadSession reads the reply of SessionRead. Odd are the keys of entries that no version
// of this library writes.
func ReadSession(r driver.Reply) (entries []SessionEntry, odd []string, err error) {
	if r.Err != nil {
		return nil, nil, r.Err
	}
	if len(r.Array)%2 != 0 {
		return nil, nil, unexpected(sessionReadScript, r)
	}
	for i := 0; i < len(r.Array); i += 2 {
		key := r.Array[i].Str
		field, lock, named := protocol.ParseSessionField(key)
		v, written := protocol.ParseSessionEntry(r.Array[i+1].Str)
		if !named || !written {
			odd = append(odd, key)
			continue
		}
		e := SessionEntry{Field: field, Lock: lock, Read: v.Read, Count: v.Count, Lease: time.Duration(v.LeaseMillis) * time.Millisecond}
		if v.UntilMillis != 0 {
			e.Until = time.UnixMilli(v.UntilMillis)
		}
		entries = append(entries, e)
	}
	return entries, odd, nil
}

// SessionBeat says that a client runs, and will say so again before due has passed.
func SessionBeat(client string, due time.Duration) Call {
	return sessionBeatScript.call(2, protocol.Sessions, protocol.Watchdogs, client, millis(due))
}

// Heard is what a SessionBeat found.
type Heard struct {
	Now       time.Time // by the server's clock
	Watchdogs int       // alive
	Joined    bool      // nobody knew of the client
}

// ReadHeard reads the reply of SessionBeat.
func ReadHeard(r driver.Reply) (Heard, error) {
	if r.Err != nil {
		return Heard{}, r.Err
	}
	if len(r.Array) != 3 {
		return Heard{}, unexpected(sessionBeatScript, r)
	}
	return Heard{
		Now:       time.UnixMilli(r.Array[0].Int),
		Watchdogs: int(r.Array[1].Int),
		Joined:    r.Array[2].Int == 1,
	}, nil
}

// SessionEnd says that a client's heartbeat is not to be waited for any more. ReadCount
// reads the reply: whether it was.
func SessionEnd(client string) Call {
	return sessionEndScript.call(1, protocol.Sessions, client, "")
}

// SessionEndOverdue is SessionEnd unless the client has beaten since its beat was due.
func SessionEndOverdue(client string, due time.Time) Call {
	return sessionEndScript.call(1, protocol.Sessions, client, strconv.FormatInt(due.UnixMilli(), 10))
}
