package demo

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Settings are what the user can choose.
type Settings struct {
	For     time.Duration // how long the workers run
	Workers int           // how many processes
	Lease   time.Duration // the lock's time to live, renewed every third of it
	Work    time.Duration // time inside the critical section
	Fair    bool          // the fair lock instead of the mutex
	Redis   string        // URL of a server; empty runs one inside the parent
}

// The limits. A shorter lease than minLease shows how long the operating system
// lets a process wait rather than how a lock works; fewer leases than minLeases
// leave no room for the long hold and for the recovery after the kill.
const (
	minLease   = 200 * time.Millisecond
	minLeases  = 4
	maxFor     = time.Hour
	maxWorkers = 64
)

// Check says which setting is wrong, by the name of its flag.
func (s Settings) Check() error {
	switch {
	case s.Workers < 2 || s.Workers > maxWorkers:
		return fmt.Errorf("--workers %d: from 2 to %d processes can share the lock here", s.Workers, maxWorkers)
	case s.Lease < minLease:
		return fmt.Errorf("--lease %v: the shortest one is %v", s.Lease, minLease)
	case s.For > maxFor:
		return fmt.Errorf("--for %v: the longest run is %v", s.For, maxFor)
	case s.For < minLeases*s.Lease:
		return fmt.Errorf("--for %v: with --lease %v it takes at least %v to see renewals and a recovery", s.For, s.Lease, minLeases*s.Lease)
	case s.Work < 0 || s.Work > s.Lease:
		return fmt.Errorf("--work %v: from 0 up to the lease, %v", s.Work, s.Lease)
	case strings.HasPrefix(strings.ToLower(s.Redis), "memory:"):
		return errors.New("--redis: a memory:// server lives inside one process; leave --redis out to run one that the workers can reach")
	}
	return nil
}
