package redlatch

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/operator"
)

// Status is a lock at one moment, as Redis has it.
type Status struct {
	Locked  bool
	Mode    Mode          // "" while free
	Owners  int           // how many hold it; a writer that reads as well counts twice, as in Holders
	Holders []Holder      // who they are; of more than a thousand readers, about the first thousand
	TTL     time.Duration // remaining; -1 without expiry, 0 while free
	Token   int64         // the last fencing token issued, 0 if none
	Queue   []Waiter      // who waits for a fair lock, the next first; the first 10,000 at most
}

// Mode is how a lock is held.
type Mode string

// The modes.
const (
	ModeExclusive Mode = "exclusive" // a Mutex
	ModeRead      Mode = "read"      // an RWMutex, by readers
	ModeWrite     Mode = "write"     // an RWMutex, by a writer, who may read as well
)

// Waiter is one owner that waits for a fair lock.
type Waiter struct {
	Owner    string
	Deadline time.Time // when Java peers take it for dead, by the server's clock
	Name     string    // Config.Name of its client, "" if unknown
}

// Holder is one owner that holds a lock.
type Holder struct {
	Owner string        // "clientUUID:number"
	Count int           // how many holds it has
	Write bool          // of the write side of a read-write lock
	TTL   time.Duration // remaining; -1 without expiry
	Name  string        // Config.Name of its client, "" if unknown
	Note  string        // what the lock is held for (WithNote), "" if unknown

	Recall *RecalledError // who asks this holder for the lock, and why; nil if nobody does
	Told   bool           // the holder knows of that
}

// HeldBy says whether owner, as Hold.Owner gives it, is among the Holders, and with
// how many holds. Of a lock with very many readers, RWMutex.StatusOf reads that owner.
func (s Status) HeldBy(owner string) (count int, held bool) {
	for _, h := range s.Holders {
		if h.Owner == owner {
			return h.Count, true
		}
	}
	return 0, false
}

// Status reads who holds the mutex, how often, and for how much longer. It changes
// nothing. Of the waiters for a fair mutex it reads the first 10,000. It blocks for one round trip, and for a second one if it sees an owner whose
// name it does not know yet. Both together are bounded by ctx and Config.CommandTimeout.
//
// The second one lists the connections of the server (CLIENT LIST). A name stays unknown if
// the owner is a Java peer, has no connection to this server any more, or if this user may
// not list. No error follows from that.
//
// Errors: ErrWrongType if the key is something else; ErrInvalidName for an empty name; ErrClosed. Any other name can be
// read: others may have made the lock.
func (m *Mutex) Status(ctx context.Context) (Status, error) {
	return status(ctx, &m.ref, "")
}

func status(ctx context.Context, r *lock.Ref, owner string) (Status, error) {
	seen, err := operator.ReadStatus(ctx, r, owner)
	if err != nil {
		return Status{}, err
	}
	s := Status{Locked: seen.Mode != "", Mode: Mode(seen.Mode), Owners: seen.Owners, TTL: seen.TTL, Token: seen.Token}
	for _, h := range seen.Holders {
		s.Holders = append(s.Holders, Holder(h))
	}
	for _, w := range seen.Queue {
		s.Queue = append(s.Queue, Waiter(w))
	}
	return s, nil
}
