package demo

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Settings are what the user can choose.
type Settings struct {
	Pause   bool          // the story of a pause; of the others, Lease and Redis count then
	For     time.Duration // how long the workers run
	Workers int           // how many processes
	Lease   time.Duration // the lock's time to live, renewed every third of it
	Work    time.Duration // time inside the critical section
	Fair    bool          // the fair lock instead of the mutex
	Redis   string        // URL of a server; empty runs one inside the parent
}

// The limits. With a shorter lease the operating system's delays hide the lock's. Fewer
// leases leave no room for the long hold and for the recovery after the kill.
const (
	minLease      = 200 * time.Millisecond
	minPauseLease = time.Second // the watchdog looks five times a second
	maxPauseLease = 30 * time.Second
	minLeases     = 4
	maxFor        = time.Hour
	maxWorkers    = 64
)

// Check says which setting is wrong, by the name of its flag.
func (s Settings) Check() error {
	switch {
	case strings.HasPrefix(strings.ToLower(s.Redis), "memory:"):
		return errors.New("--redis: a memory:// server lives inside one process; leave --redis out to run one that the workers can reach")
	case s.Pause && (s.Lease < minPauseLease || s.Lease > maxPauseLease):
		return fmt.Errorf("--lease %v: with --pause from %v to %v", s.Lease, minPauseLease, maxPauseLease)
	case s.Pause:
		return nil
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
	}
	return nil
}

// plan says what happens to the workers, and when, counted from the start.
type plan struct {
	holds   []time.Duration // a worker keeps the lock for holdFor
	holdFor time.Duration
	kill    time.Duration // a worker is killed while it holds the lock
	dwell   time.Duration // for how long it is seen to hold it before
}

// plan puts the long hold before the kill, so that the TTL is first seen to jump up
// again and then seen not to. A second long hold follows where there is time left.
func (s Settings) plan() plan {
	p := plan{holdFor: s.Lease * 3 / 2, dwell: min(s.Lease/6, time.Second)}
	first := min(2*time.Second, s.For/7)
	p.holds = []time.Duration{first}
	p.kill = max(s.For*2/5, first+p.holdFor+s.For/30)
	second := max(s.For*7/10, p.kill+p.dwell+s.Lease*3/2)
	if second+p.holdFor <= s.For*9/10 {
		p.holds = append(p.holds, second)
	}
	return p
}
