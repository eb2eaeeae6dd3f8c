package redlatch

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Status is a lock at one moment, as Redis has it.
type Status struct {
	Locked  bool
	Mode    string        // "exclusive", "read" or "write"; "" while free
	Holders []Holder      // who holds it
	TTL     time.Duration // remaining; -1 without expiry, 0 while free
	Token   int64         // the last fencing token issued, 0 if none
	Queue   []Waiter      // who waits for a fair lock, the next first
}

// Waiter is one owner that waits for a fair lock.
type Waiter struct {
	Owner    string
	Deadline time.Time // by the server's clock: when Java peers take it for dead
}

// Holder is one owner that holds a lock.
type Holder struct {
	Owner string        // "clientUUID:number"
	Count int           // how many holds it has
	Write bool          // of the write side of a read-write lock
	TTL   time.Duration // remaining; -1 without expiry
}

// HeldBy says whether owner, as Hold.Owner gives it, is among the holders, and with
// how many holds.
func (s Status) HeldBy(owner string) (count int, held bool) {
	for _, h := range s.Holders {
		if h.Owner == owner {
			return h.Count, true
		}
	}
	return 0, false
}

// Status reads who holds the mutex, how often, and for how much longer. It changes
// nothing. It blocks for one round trip, bounded by ctx and Config.CommandTimeout.
// Errors: ErrWrongType if the key is something else.
func (m *Mutex) Status(ctx context.Context) (Status, error) {
	call := script.Status(m.point.name, protocol.TokenKey(m.point.name))
	state, err := ask(ctx, m.client, &m.point, "status of", call, script.ReadStatus)
	if err != nil {
		return Status{}, err
	}
	return mutexStatus(m.point.name, state)
}

func mutexStatus(name string, state script.State) (Status, error) {
	status := Status{Token: state.Token}
	if len(state.Fields) == 0 {
		return status, nil
	}
	status.Locked, status.Mode = true, "exclusive"
	status.TTL = max(state.TTL, -1)
	for owner, value := range state.Fields {
		count, err := strconv.Atoi(value)
		if err != nil {
			return Status{}, fmt.Errorf("redlatch: status of %q: %w: its hash has the field %s with the value %s", name, ErrWrongType, protocol.Show(owner), protocol.Show(value))
		}
		status.Holders = append(status.Holders, Holder{Owner: owner, Count: count, TTL: status.TTL})
	}
	return status, nil
}
