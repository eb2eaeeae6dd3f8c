package script

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	watchdogHeartbeatScript = load("watchdog_heartbeat", "shape", "heartbeats")
	sessionsStalledScript   = load("sessions_stalled", "shape", "heartbeats")
	sessionsDueScript       = load("sessions_due")
	sessionKeepScript       = load("session_keep")
	sessionRenewScript      = load("session_renew", "shape", "note")
	sessionRemoveScript     = load("session_remove")
)

// MaxWatchdogs is how many watchdogs a reply of WatchdogHeartbeat names at most.
const MaxWatchdogs = 16

// WatchdogHeartbeat says that a watchdog counts as alive for a time from now on, ten seconds at
// most. With 0 it does not count any more.
func WatchdogHeartbeat(id string, alive time.Duration) Call {
	return watchdogHeartbeatScript.call(1, protocol.Watchdogs, id, millis(alive),
		strconv.Itoa(MaxWatchdogs), strconv.Itoa(protocol.MaxClientLen))
}

// Alive is what WatchdogHeartbeat found.
type Alive struct {
	Now   time.Time // by the server's clock
	Count int       // of all watchdogs
	IDs   []string  // of some of them, MaxWatchdogs at most
}

// ReadWatchdogs reads the reply of WatchdogHeartbeat.
func ReadWatchdogs(r driver.Reply) (Alive, error) {
	all, err := list(watchdogHeartbeatScript, r, 2, 1)
	return Alive{Now: moment(all[0].Int), Count: int(all[1].Int), IDs: texts(all[2:])}, err
}

// Cursor is where a page of stalled clients begins. The zero value is the beginning.
type Cursor struct {
	score string // its first client has this score or a later one
	same  int    // how many clients of exactly this score to skip
}

// CursorAt begins with the clients whose heartbeat was due at that time or later.
func CursorAt(due time.Time) Cursor { return Cursor{score: strconv.FormatInt(due.UnixMilli(), 10)} }

// maxSame is how many clients of one score are read. No server takes more heartbeats within a
// millisecond. Those behind them were invented, and would make a page cost more.
const maxSame = 5000

// SessionsStalled asks for a page of the clients whose heartbeats are overdue.
func SessionsStalled(from Cursor, limit int) Call {
	if from.same > maxSame {
		from = Cursor{score: "(" + from.score}
	}
	return sessionsStalledScript.call(1, protocol.Sessions, cmp.Or(from.score, "-inf"), strconv.Itoa(from.same),
		strconv.Itoa(limit), strconv.Itoa(protocol.MaxClientLen))
}

// Stalled is a client whose heartbeat is overdue.
type Stalled struct {
	Client string
	Due    time.Time // by the server's clock
	Score  string    // the same, as it stands in Redis
}

// stalled is a client by its score. A score that is no time counts as long past.
func stalled(client, score string) Stalled {
	due, _, ok := Moment(score)
	if !ok {
		due = moment(0)
	}
	return Stalled{Client: client, Score: score, Due: due}
}

// StalledPage is some of the clients whose heartbeats are overdue.
type StalledPage struct {
	Now     time.Time // by the server's clock
	All     int       // how many are overdue
	Skipped int       // how many of this page have a name that no client can have
	Clients []Stalled // the one that is overdue for longest first
	Next    Cursor    // of the next page
	Last    bool      // there is no next page
}

// ReadStalled reads the reply of SessionsStalled.
func ReadStalled(r driver.Reply) (StalledPage, error) {
	all, err := list(sessionsStalledScript, r, 5, 2)
	page := StalledPage{Now: moment(all[0].Int), All: int(all[1].Int), Skipped: int(all[2].Int)}
	page.Next, page.Last = Cursor{all[3].Str, int(all[4].Int)}, all[3].Str == ""
	for pair := range slices.Chunk(all[5:], 2) {
		page.Clients = append(page.Clients, stalled(pair[0].Str, pair[1].Str))
	}
	return page, err
}

// SessionsDue asks when the next heartbeats of some clients are due.
func SessionsDue(clients []string) Call {
	return sessionsDueScript.call(1, append([]string{protocol.Sessions}, clients...)...)
}

// ReadDue reads the reply of SessionsDue: those of these clients that are there, whether overdue or
// not.
func ReadDue(r driver.Reply, clients []string) (map[string]Stalled, error) {
	all, err := list(sessionsDueScript, r, len(clients), nothing)
	there := make(map[string]Stalled)
	for i, client := range clients {
		if score := all[i].Str; score != "" {
			there[client] = stalled(client, score)
		}
	}
	return there, err
}

// SessionPulse asks how long the name of a client's pulse is. The server reads 0 if there is no
// session, or no pulse in it.
func SessionPulse(client string) Call {
	key := protocol.SessionKey(client)
	return Call{command: driver.Command{Words: []string{"HSTRLEN", key, "pulse"}, Key: key}}
}

// SessionsEndOverdue is SessionEnd for some clients. One that has sent a heartbeat since it was
// found stalled stays. ReadCount reads the reply: how many did not stay.
func SessionsEndOverdue(some ...Stalled) Call {
	words := []string{protocol.Sessions}
	for _, one := range some {
		words = append(words, one.Client, one.Score)
	}
	return sessionEndScript.call(1, words...)
}

// SessionKeep lets a client's session outlive the call by at least ttl, and removes entries, by
// their keys. The session must name the pulse. ReadCount reads the reply: 0 if there is no such
// session.
func SessionKeep(client, pulse string, ttl time.Duration, gone ...string) Call {
	words := append([]string{protocol.SessionKey(client), pulse, millis(ttl)}, gone...)
	return sessionKeepScript.call(1, words...)
}

// SessionRemove removes a client's session, which must name the pulse. ReadCount reads the reply:
// 0 if there is no such session.
func SessionRemove(client, pulse string) Call {
	return sessionRemoveScript.call(1, protocol.SessionKey(client), pulse)
}

// SessionRenew extends the lease of an entry, if its owner holds the lock. Now is by the server's
// clock. It reports false if the entry is not to be renewed any more. ReadCount reads the reply:
// 0 if the owner does not hold the lock.
func SessionRenew(e SessionEntry, now time.Time) (Call, bool) {
	lease := e.Lease
	if !e.Until.IsZero() {
		lease = min(lease, e.Until.Sub(now))
	}
	if lease < time.Millisecond {
		return Call{}, false
	}
	words := []string{e.Lock}
	if e.Read {
		words = append(words, holds(e.Lock, e.Field, e.Bounded().Count)...)
	}
	return sessionRenewScript.call(len(words), append(words, e.Field, millis(lease))...), true
}
