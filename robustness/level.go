package robustness

import (
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// lease is that of every hold in a drill, and so the longest that a lost one blocks. Two
// thirds of it, what is left at the next renewal, are longer than most failovers: otherwise
// all holds would have ended before another server could give the locks away again.
const lease = 3 * time.Second

// confirm is for how long a grant waits for the replicas.
const confirm = 300 * time.Millisecond

// level is a guarantee, and what it costs in settings.
type level struct {
	name    string
	config  redlatch.Config
	options []redlatch.LockOption
	fenced  bool // its writes go through a guard

	apart bool // promised: two holders never overlap
	exact bool // promised: no stale write is let through
	grows bool // promised: no token is given again
}

// settings are those of every client: short, so that there is much to see in a short time.
func settings() redlatch.Config {
	return redlatch.Config{
		LeaseTime:      lease,
		PollCap:        500 * time.Millisecond,
		CommandTimeout: time.Second,
		ReleaseTimeout: lease,                         // longer than a failover, so that it does not leave locks behind
		Logger:         slog.New(slog.DiscardHandler), // losses are what a drill is for
	}
}

// plain is the level without any means.
func plain() level { return level{name: "plain", config: settings()} }

// levels are those of a primary with so many replicas, one or two.
func levels(replicas int) []level {
	all := redlatch.WithReplicas(replicas, confirm)
	byClock := settings()
	byClock.TokenClock = true
	list := []level{
		plain(),
		{name: "fencing", options: []redlatch.LockOption{redlatch.WithFencing()}, fenced: true},
		{name: "fencing by the clock", config: byClock, options: []redlatch.LockOption{redlatch.WithFencing()}, fenced: true, exact: true, grows: true},
		{name: "replicas", options: []redlatch.LockOption{all}},
		{name: "replicas, fixed lease", options: []redlatch.LockOption{all, redlatch.WithLease(lease)}, apart: true, exact: true},
		{name: "replicas and fencing", options: []redlatch.LockOption{all, redlatch.WithFencing()}, fenced: true, exact: true, grows: true},
	}
	if replicas > 1 {
		one := redlatch.WithReplicas(1, confirm)
		list = append(list,
			level{name: "one replica of two", options: []redlatch.LockOption{one}},
			level{name: "one replica of two, fixed lease", options: []redlatch.LockOption{one, redlatch.WithLease(lease)}})
	}
	for i := range list {
		if list[i].config.LeaseTime == 0 {
			list[i].config = settings()
		}
	}
	return list
}

// quorum is the level of independent servers.
func quorum() level { return level{name: "quorum", config: settings(), apart: true, exact: true} }

// with are the level's options and one more.
func (l level) with(option redlatch.LockOption) []redlatch.LockOption {
	return append(slices.Clone(l.options), option)
}
