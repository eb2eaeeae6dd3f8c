package script

import (
	"slices"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var inspectScript = load("inspect", "undeclared", "shape", "note", "exclusive", "rw", "last")

// Inspect reads a lock of any kind. It names about that many holders and waiters. Alone says that the
// other keys of the lock may lie in another slot of the cluster, and are not read.
func Inspect(lock string, most int, alone bool) Call {
	limit := strconv.Itoa(most)
	if alone {
		return inspectScript.call(1, lock, "", limit)
	}
	return inspectScript.call(4, lock, protocol.TokenKey(lock), protocol.FairQueue(lock), protocol.FairDeadlines(lock),
		protocol.ReadTimeoutPrefix(lock), limit)
}

// Inspected is a lock of any kind at one moment.
type Inspected struct {
	Now     time.Time     // by the server's clock
	TTL     time.Duration // negative without expiry
	Token   int64         // the last fencing token issued, 0 if none
	Mode    string        // "exclusive", "read", "write", or "" when free
	Owners  int           // how many fields with a count it has
	Holders []InspectedField
	Queued  int // how many owners are in the queue; -1 if that key is no list
	Timed   int // how many have a deadline; -1 if that key is no sorted set
	Queue   []Queued
}

// InspectedField is one owner in the lock's hash.
type InspectedField struct {
	Name  string
	Count int
	// Left is what is left of each hold of a reader: -1 ms without expiry, -2 ms without a timeout
	// key. It is shorter than Count if not all were read.
	Left []time.Duration
	Noted
}

// ReadInspected reads the reply of Inspect. A waiter without a deadline has the zero time.
func ReadInspected(r driver.Reply) (Inspected, error) {
	all, err := list(inspectScript, r, 9, nothing)
	if err != nil {
		return Inspected{}, err
	}
	waiters, holders := all[7].Array, all[8].Array
	token, wrong := strconv.ParseInt(all[2].Str, 10, 64)
	if wrong != nil || len(waiters)%2 != 0 || len(holders)%4 != 0 {
		return Inspected{}, unexpected(inspectScript, r)
	}
	found := Inspected{
		Now: moment(all[0].Int), TTL: duration(all[1].Int), Token: token, Mode: all[3].Str,
		Owners: int(all[4].Int), Queued: int(all[5].Int), Timed: int(all[6].Int),
	}
	for pair := range slices.Chunk(waiters, 2) {
		one := Queued{Owner: pair[0].Str}
		if at, _, ok := Moment(pair[1].Str); ok {
			one.Deadline = at
		}
		found.Queue = append(found.Queue, one)
	}
	for group := range slices.Chunk(holders, 4) {
		count, err := strconv.Atoi(group[1].Str)
		if err != nil {
			return Inspected{}, unexpected(inspectScript, r)
		}
		one := InspectedField{Name: group[0].Str, Count: count, Noted: readNoted(group[3])}
		for _, left := range group[2].Array {
			one.Left = append(one.Left, duration(left.Int))
		}
		found.Holders = append(found.Holders, one)
	}
	return found, nil
}
