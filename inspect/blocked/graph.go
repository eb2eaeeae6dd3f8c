package blocked

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// Graph says who waits for whom.
type Graph struct {
	// Edges has one edge for each wait and each holder that it waits for, the longest wait first.
	// Waits of unknown age come last.
	Edges []Edge    `json:"edges"`
	Seen  time.Time `json:"seen"` // when it was read, by the clock of this machine
	Now   time.Time `json:"now"`  // the same by the server's clock
	// Clients is how many protected clients there are. If there are none, the graph has only the fair
	// queues of Options.Locks.
	Clients int `json:"clients"`
	// LeftOut says that some waits are missing: there were too many, or an entry was not valid.
	LeftOut bool `json:"left_out"`
}

// Edge is one owner that waits for a lock that another owner holds.
type Edge struct {
	Waiter Party     `json:"waiter"`
	Lock   string    `json:"lock"`
	Mode   Mode      `json:"mode"`
	Holder Party     `json:"holder"`
	Since  time.Time `json:"since,omitzero"` // of the wait, by the server's clock; zero if unknown
	// Confirmed is when the client of the waiter last found the wait going on, by the server's clock. The
	// wait may have ended since. It is zero if it is unknown.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Under are the owners of the holds that the wait is under. They were there when the wait began. The
	// waiter does not release them before the wait has ended.
	Under []string `json:"under,omitempty"`
	// Told says that the client of the waiter has reported the wait. Otherwise Read found it in the queue
	// of the lock.
	Told bool `json:"told"`
}

// MarshalJSON writes the names of the lock and of owners as other reports do: JSON has no bytes that are not UTF-8.
func (e Edge) MarshalJSON() ([]byte, error) { return json.Marshal(e.plain()) }

// plainEdge is an Edge in JSON.
type plainEdge Edge

func (e Edge) plain() plainEdge {
	e.Lock, e.Waiter, e.Holder, e.Under = protocol.Argument(e.Lock), e.Waiter.plain(), e.Holder.plain(), slices.Clone(e.Under)
	for i, owner := range e.Under {
		e.Under[i] = protocol.Argument(owner)
	}
	return plainEdge(e)
}

// Mode is the kind or side of the lock that a waiter wants.
type Mode string

// The modes.
const (
	ModeExclusive Mode = "exclusive" // a mutex
	ModeFair      Mode = "fair"      // a fair lock
	ModeRead      Mode = "read"      // the read side of a read-write lock
	ModeWrite     Mode = "write"     // the write side of a read-write lock
)

// Party is one owner and its process.
type Party struct {
	Owner  string `json:"owner"`
	Client string `json:"client"` // the UUID with which the owner begins
	Name   string `json:"name"`   // Config.Name of the client; "" if unknown
	Addr   string `json:"addr"`   // of the process's end of a connection; "" if unknown
}

func (p Party) plain() Party {
	p.Owner, p.Client = protocol.Argument(p.Owner), protocol.Argument(p.Client)
	return p
}
