package script

import (
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Mode builds the calls for one lock of one kind, or for the permits of one semaphore. All kinds
// answer alike: ReadAcquired, ReadReleased, ReadRenewed and ReadForced read the replies.
type Mode interface {
	// Acquire makes owner's counts be these. Wait says that the owner will wait if it does not
	// get the lock.
	Acquire(owner string, counts Counts, lease time.Duration, wait bool) Call
	// Release lowers owner's counts to these. It never had more than so many read holds.
	Release(owner string, most int, counts Counts, lease time.Duration) Call
	// Renewal extends the lease of an owner with these counts. Over says that its write side
	// has ended and Redis may not know.
	Renewal(owner string, counts Counts, over bool, lease time.Duration) Renewal
	// Move gives the one hold of an owner, on one side, to another owner. ReadMoved reads the reply.
	Move(from, to string, read bool, lease time.Duration) Call
	// Recall asks an owner to give back what it has, and tells those who listen. ReadRecalled reads the reply.
	Recall(owner, text string) Call
	// Forget removes the owner's note.
	Forget(owner string) Call
	// Field is the owner's in the lock's hash, on one side.
	Field(owner string, read bool) string
}

// LockMode is a Mode whose locks can be read and forced.
type LockMode interface {
	Mode
	// Force frees the lock, whoever holds it; with an owner, if that owner does.
	Force(owner string) Call
	// Status reads the lock, and ReadStatus the first reply. With an owner it need not name others.
	Status(owner string) []Call
	ReadStatus(r driver.Reply) (State, error)
}

// Counts are an owner's holds of the two sides of a read-write lock. The holds of any other
// lock count as writes.
type Counts struct{ Writes, Reads int }

// State is a lock at one moment.
type State struct {
	TTL     time.Duration // negative without expiry
	Token   int64         // the last fencing token issued, 0 if none
	Mode    string        // "exclusive", "read", "write", or "" when free
	Owners  int           // how many fields of owners it has
	Holders []Field       // of about the first thousand
}

// Field is one owner in the lock's hash.
type Field struct {
	Name, Count string
	TTL         time.Duration
	Noted
}

// readState reads what all replies with a state begin with. It returns the words behind front.
func readState(s *source, r driver.Reply, front, group int) (State, []driver.Reply, error) {
	all, err := list(s, r, front, group)
	token, wrong := strconv.ParseInt(all[1].Str, 10, 64)
	if wrong != nil {
		return State{}, nil, unexpected(s, r)
	}
	return State{TTL: duration(all[0].Int), Token: token}, all[front:], err
}
