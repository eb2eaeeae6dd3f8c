package script

import (
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	sessionNoteScript      = load("session_note")
	sessionForgetScript    = load("session_forget")
	sessionTouchScript     = load("session_touch")
	sessionReadScript      = load("session_read")
	sessionDropScript      = load("session_drop")
	sessionHeartbeatScript = load("session_heartbeat", "shape", "heartbeats")
	sessionEndScript       = load("session_end")
)

// SessionEntry is one grant in a client's session: a lock that one owner holds.
type SessionEntry struct {
	Field string        // of the owner, in the lock's hash
	Lock  string        // its key
	Read  bool          // the owner holds the read side of a read-write lock
	Count int           // the highest number of holds that Redis may have been told
	Lease time.Duration // that a renewal sets
	Until time.Time     // by the server's clock: nobody renews beyond it; zero for no limit
}

// Key names the entry within its session.
func (e SessionEntry) Key() string { return protocol.SessionField(e.Field, e.Lock) }

// Bounded is the entry within the bounds of a watchdog: at most protocol.MaxSessionCount holds,
// and a lease of at most an hour.
func (e SessionEntry) Bounded() SessionEntry {
	e.Count, e.Lease = min(e.Count, protocol.MaxSessionCount), min(e.Lease, longestLease)
	return e
}

// Keys is how many keys a renewal of the entry touches.
func (e SessionEntry) Keys() int {
	if e.Read {
		return 1 + e.Count
	}
	return 1
}

func (e SessionEntry) value() string {
	until := int64(0)
	if !e.Until.IsZero() {
		until = e.Until.UnixMilli()
	}
	return protocol.SessionEntry(e.Read, e.Count, e.Lease.Milliseconds(), until)
}

// SessionNote adds entries to a client's session, which then outlives the call by ttl.
func SessionNote(client string, ttl time.Duration, entries ...SessionEntry) Call {
	words := []string{protocol.SessionKey(client), millis(ttl)}
	for _, e := range entries {
		words = append(words, e.Key(), e.value())
	}
	return sessionNoteScript.call(1, words...)
}

// SessionForget removes entries, by their keys, from a client's session.
func SessionForget(client string, keys ...string) Call {
	return sessionForgetScript.call(1, append([]string{protocol.SessionKey(client)}, keys...)...)
}

// SessionTouch is called by a client itself. It names the client's pulse, "" for none, and lets
// the session outlive the call by ttl. ReadCount reads the reply: how many entries it has.
func SessionTouch(client string, ttl time.Duration, pulse string) Call {
	return sessionTouchScript.call(1, protocol.SessionKey(client), millis(ttl), pulse)
}

// SessionDrop is called by a client itself, and removes its session. ReadCount reads the reply:
// 1 if there was a session.
func SessionDrop(client string) Call {
	return sessionDropScript.call(1, protocol.SessionKey(client))
}

// ReadCount reads a reply that is a number, not below zero.
func ReadCount(r driver.Reply) (int, error) { return readCount(sessionTouchScript, r) }

// SessionHeartbeat says that a client runs, and that its next heartbeat is due in that time.
func SessionHeartbeat(client string, due time.Duration) Call {
	return sessionHeartbeatScript.call(2, protocol.Sessions, protocol.Watchdogs, client, millis(due))
}

// Heartbeat is what a SessionHeartbeat found.
type Heartbeat struct {
	Now       time.Time // by the server's clock
	Watchdogs int       // alive
	Joined    bool      // the client was not known before
}

// ReadHeartbeat reads the reply of SessionHeartbeat.
func ReadHeartbeat(r driver.Reply) (Heartbeat, error) {
	all, err := list(sessionHeartbeatScript, r, 3, 1)
	return Heartbeat{Now: moment(all[0].Int), Watchdogs: int(all[1].Int), Joined: all[2].Int == 1}, err
}

// SessionEnd says that no heartbeat of a client is due any more. ReadCount reads the reply: 1 if
// one was.
func SessionEnd(client string) Call {
	return sessionEndScript.call(1, protocol.Sessions, client, "")
}
