package demo

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Settings are what the user can choose.
type Settings struct {
	Pause   bool          // show a pause; of the other settings, Lease, Redis and Console count then
	For     time.Duration // how long the workers run
	Workers int           // how many processes
	Lease   time.Duration // the lock's time to live, renewed every third of it
	Work    time.Duration // time inside the critical section
	Fair    bool          // the fair lock instead of the mutex
	Redis   string        // URL of a server; empty runs one inside the parent
	Console bool          // serve the console, which shows the locks on a web page
}

// The limits. With a shorter lease the operating system's delays hide the lock's.
const (
	minLease      = 200 * time.Millisecond
	minPauseLease = time.Second // the watchdog looks five times a second
	maxPauseLease = 30 * time.Second
	maxFor        = time.Hour
	maxWorkers    = 64
)

// Check says which setting is out of its range, by the name of its flag.
func (s Settings) Check() error {
	if strings.HasPrefix(strings.ToLower(s.Redis), "memory:") {
		return errors.New("--redis: a memory:// server lives inside one process; leave --redis out to run one that the workers can reach")
	}
	if s.Pause {
		return within("lease", s.Lease, minPauseLease, maxPauseLease)
	}
	return cmp.Or(
		within("workers", s.Workers, 2, maxWorkers),
		within("lease", s.Lease, minLease, maxFor/minLeases),
		within("for", s.For, s.leases(minLeases), maxFor),
		within("work", s.Work, 0, s.Lease))
}

func within[T cmp.Ordered](flag string, value, least, most T) error {
	if value < least || value > most {
		return fmt.Errorf("--%s %v: from %v to %v", flag, value, least, most)
	}
	return nil
}

// leases is a moment counted from the start.
func (s Settings) leases(n float64) time.Duration { return time.Duration(n * float64(s.Lease)) }
