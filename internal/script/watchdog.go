package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	watchdogHeartbeatScript = load("watchdog_heartbeat", "shape", "heartbeats")
	sessionsStalledScript   = load("sessions_stalled", "shape", "heartbeats")
	sessionKeepScript       = load("session_keep")
	sessionRenewScript      = load("session_renew", "shape")
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

// SessionsStalled asks which clients' heartbeats are overdue. It skips the first ones and names
// at most limit of the others.
func SessionsStalled(skip, limit int) Call {
	return sessionsStalledScript.call(1, protocol.Sessions, strconv.Itoa(skip), strconv.Itoa(limit),
		strconv.Itoa(protocol.MaxClientLen))
}

// Stalled is a client whose heartbeat is overdue.
type Stalled struct {
	Client string
	Due    time.Time // by the server's clock
	Score  string    // the same, as it stands in Redis
}

// StalledPage is some of the clients whose heartbeats are overdue.
type StalledPage struct {
	Now     time.Time // by the server's clock
	All     int       // how many are overdue
	Skipped int       // how many of this page have a name that no client can have
	Clients []Stalled // the one that is overdue for longest first
}

// ReadStalled reads the reply of SessionsStalled. A score that is no time counts as long past.
func ReadStalled(r driver.Reply) (StalledPage, error) {
	all, err := list(sessionsStalledScript, r, 3, 2)
	page := StalledPage{Now: moment(all[0].Int), All: int(all[1].Int), Skipped: int(all[2].Int)}
	for pair := range slices.Chunk(all[3:], 2) {
		one := Stalled{Client: pair[0].Str, Score: pair[1].Str, Due: moment(0)}
		if due, _, ok := Moment(one.Score); ok {
			one.Due = due
		}
		page.Clients = append(page.Clients, one)
	}
	return page, err
}

// SessionEndOverdue is SessionEnd, unless the client has sent a heartbeat since it was found
// stalled.
func SessionEndOverdue(one Stalled) Call {
	return sessionEndScript.call(1, protocol.Sessions, one.Client, one.Score)
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
