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
	options []redlatch.LockOption
	fenced  bool // its writes go through a guard
	clocked bool // its tokens follow the server's clock

	apart bool // promised: two holders never overlap
	exact bool // promised: no stale write is let through
	grows bool // promised: no token is given again
}

// plain is the level without any means.
var plain = level{name: "plain"}

// quorum is the level of independent servers.
var quorum = level{name: "quorum", apart: true, exact: true}

// levels are those of a primary with so many replicas, one or two.
func levels(replicas int) []level {
	type options = []redlatch.LockOption
	all, one := redlatch.WithReplicas(replicas, confirm), redlatch.WithReplicas(1, confirm)
	fixed, fencing := redlatch.WithLease(lease), redlatch.WithFencing()
	list := []level{
		plain,
		{name: "fencing", options: options{fencing}, fenced: true},
		{name: "fencing by the clock", options: options{fencing}, fenced: true, clocked: true, exact: true, grows: true},
		{name: "replicas", options: options{all}},
		{name: "replicas, fixed lease", options: options{all, fixed}, apart: true, exact: true},
		{name: "replicas and fencing", options: options{all, fencing}, fenced: true, exact: true, grows: true},
	}
	if replicas > 1 {
		list = append(list,
			level{name: "one replica of two", options: options{one}},
			level{name: "one replica of two, fixed lease", options: options{one, fixed}})
	}
	return list
}

// config is that of every client: short times, so that there is much to see in a short one.
// A release takes longer than a failover before it gives up, and so leaves no lock behind.
func (l level) config() redlatch.Config {
	return redlatch.Config{
		LeaseTime:      lease,
		PollCap:        500 * time.Millisecond,
		CommandTimeout: time.Second,
		ReleaseTimeout: lease,
		TokenClock:     l.clocked,
		Logger:         slog.New(slog.DiscardHandler), // losses are what a drill is for
	}
}

// with are the level's options and one more.
func (l level) with(option redlatch.LockOption) []redlatch.LockOption {
	return append(slices.Clone(l.options), option)
}
