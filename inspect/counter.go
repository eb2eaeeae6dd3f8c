package inspect

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Counter is a semaphore or a latch at one moment, as Redis has it.
type Counter struct {
	Name string
	Kind Kind // KindPermits, KindCounter, or "" if there is none
	// Available is how many permits can be taken, those with an expired lease included. It is negative if more
	// are in use than the semaphore has. For a latch it is the count.
	Available int
	InUse     int           // leased permits that are in use
	Expired   int           // leased permits of dead holders, which the next acquisition puts back
	Permits   []Permit      // about a thousand of those in use at most, in the order of their expiry
	TTL       time.Duration // remaining; -1 without expiry, 0 if there is none
	Waiting   int           // Go and Java processes that listen for permits, or for the end; -1 if unknown
	Findings  []Finding     // what is wrong with it
	Seen      time.Time     // when it was read, by the clock of this machine
}

// Size is how many permits the semaphore has, available or in use. It is known only for KindPermits.
func (c Counter) Size() int { return c.Available + c.InUse }

// Permit is a leased permit in use. Redis does not know the process that has it. In that process, ID is
// Hold.Owner.
type Permit struct {
	ID  string
	TTL time.Duration // remaining; -1 without expiry
	Noted
}

// Counter reads one semaphore or latch. If there is none, Kind is "", and that is no error. An open latch has
// no key, so it looks the same.
//
// The error is ErrWrongType if the key has other data. It is a *RightError if this user may not read the key.
// Other errors are those of the network or the server.
func (i *Inspector) Counter(ctx context.Context, name string) (Counter, error) {
	if name == "" {
		return Counter{Waiting: -1}, fmt.Errorf("inspect: %w: the name is empty", redlatch.ErrInvalidName)
	}
	found, err := i.readCounters(ctx, []string{name})
	if err != nil {
		return Counter{Name: name, Waiting: -1}, err
	}
	if err := found[0].err; err != nil {
		return found[0].Counter, fmt.Errorf("inspect: semaphore or latch %q: %w", name, err)
	}
	all := []Counter{found[0].Counter}
	i.countWaiters(ctx, all)
	return all[0], nil
}

// counterReading is what one key turned out to be.
type counterReading struct {
	Counter
	there bool  // the counter exists
	err   error // ErrWrongType, or why it could not be read
}

// readCounters reads keys, some at a time. The error is that of ctx.
func (i *Inspector) readCounters(ctx context.Context, names []string) ([]counterReading, error) {
	return callAll(ctx, i, names, func(name string) script.Call {
		return script.InspectCounter(name, maxListed, i.scattered(name, protocol.PermitsInUse(name)))
	}, readCounter)
}

// readCounter reads one reply.
func readCounter(name string, reply driver.Reply) counterReading {
	found, err := script.ReadInspectedCounter(reply)
	switch script.Code(err) {
	case "":
	case "NOTLOCK", "WRONGTYPE":
		err = fmt.Errorf("%w: %w", redlatch.ErrWrongType, err)
	default:
		err = right("+evalsha, +eval, or one of those that the script uses, such as +zcount", err)
	}
	if err != nil {
		return counterReading{Counter: Counter{Name: name, Waiting: -1}, err: err}
	}
	return counterReading{newCounter(name, found), found.There, nil}
}

func newCounter(name string, found script.InspectedCounter) Counter {
	c := Counter{Name: name, Available: int(found.Count), Waiting: -1, Seen: time.Now()}
	if found.There {
		c.Kind, c.TTL = KindCounter, max(found.TTL, -1)
	}
	if !isPermits(found) {
		return c
	}
	c.Kind, c.InUse, c.Expired = KindPermits, found.Used-found.Expired, found.Expired
	if found.There {
		c.Available += found.Expired
	}
	for _, p := range found.Permits {
		id, _ := permitID(p.ID)
		switch left := p.End.Sub(found.Now); {
		case p.End.IsZero():
			c.Permits = append(c.Permits, Permit{id, -1, newNoted(name, p.Noted)})
		case left > 0:
			c.Permits = append(c.Permits, Permit{id, left, newNoted(name, p.Noted)})
		}
	}
	c.Findings = findingsOf(c, found.There)
	return c
}

// isPermits says that the sorted set beside a counter has leased permits: every member has the form of an id.
func isPermits(found script.InspectedCounter) bool {
	for _, p := range found.Permits {
		if _, ok := permitID(p.ID); !ok {
			return false
		}
	}
	return len(found.Permits) > 0
}

// permitID is the id of a permit as redlatch and Redisson show it. In Redis it is sixteen bytes, and before
// Redisson 3.17.0 its text.
func permitID(member string) (string, bool) {
	switch len(member) {
	case 16:
		return hex.EncodeToString([]byte(member)), true
	case 32:
		_, err := hex.DecodeString(member)
		return member, err == nil
	}
	return "", false
}

// countWaiters counts who listens for permits, or for the end of a latch.
func (i *Inspector) countWaiters(ctx context.Context, counters []Counter) {
	servers, err := i.servers(ctx)
	if err != nil || len(counters) == 0 {
		return
	}
	var channels []string
	for _, c := range counters {
		channels = append(channels, protocol.SemaphoreChannel(c.Name), protocol.LatchChannel(c.Name))
	}
	counts, ok := i.countOn(ctx, servers, channels)
	for n := range counters {
		if ok {
			counters[n].Waiting = counts[channels[2*n]] + counts[channels[2*n+1]]
		}
	}
}

// nameCounter says of a key that is no lock that it is a semaphore or a latch.
func (i *Inspector) nameCounter(ctx context.Context, one *reading) {
	if !errors.Is(one.err, redlatch.ErrWrongType) {
		return
	}
	if found, err := i.readCounters(ctx, []string{one.lock.Name}); err == nil && found[0].err == nil && found[0].Kind != "" {
		one.lock.Findings = []Finding{noLock(one.lock.Name)}
	}
}
