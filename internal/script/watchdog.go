package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var (
	watchdogBeatScript    = load("watchdog_beat")
	sessionsStalledScript = load("sessions_stalled")
)

// WatchdogBeat says that a watchdog counts as alive for a while from now on; 0 that it
// does not.
func WatchdogBeat(id string, alive time.Duration) Call {
	return watchdogBeatScript.call(1, protocol.Watchdogs, id, millis(alive))
}

// ReadWatchdogs reads the reply of WatchdogBeat: the server's clock, and the watchdogs that
// are alive.
func ReadWatchdogs(r driver.Reply) (now time.Time, ids []string, err error) {
	if r.Err != nil {
		return now, nil, r.Err
	}
	if len(r.Array) < 1 {
		return now, nil, unexpected(watchdogBeatScript, r)
	}
	for _, id := range r.Array[1:] {
		ids = append(ids, id.Str)
	}
	return time.UnixMilli(r.Array[0].Int), ids, nil
}

// SessionsStalled asks which clients' heartbeats are overdue, for at most limit of them.
func SessionsStalled(limit int) Call {
	return sessionsStalledScript.call(1, protocol.Sessions, strconv.Itoa(limit))
}

// Stalled is a client whose heartbeat is overdue.
type Stalled struct {
	Client string
	Due    time.Time // by the server's clock
}

// ReadStalled reads the reply of SessionsStalled, with the server's clock. The one that is
// overdue for longest comes first.
func ReadStalled(r driver.Reply) (now time.Time, stalled []Stalled, err error) {
	if r.Err != nil {
		return now, nil, r.Err
	}
	if len(r.Array)%2 != 1 {
		return now, nil, unexpected(sessionsStalledScript, r)
	}
	for i := 1; i < len(r.Array); i += 2 {
		due, err := strconv.ParseFloat(r.Array[i+1].Str, 64)
		if err != nil {
			return now, nil, unexpected(sessionsStalledScript, r)
		}
		stalled = append(stalled, Stalled{Client: r.Array[i].Str, Due: time.UnixMilli(int64(due))})
	}
	return time.UnixMilli(r.Array[0].Int), stalled, nil
}
