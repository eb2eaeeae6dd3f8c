package robustness

import (
	"log/slog"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// lease is the lease of every hold in a drill, and so the longest time that a lost one blocks. At
// the next renewal two thirds of it are left, which is longer than most failovers. Otherwise all
// holds would have ended before another server could grant the locks again.
const lease = 3 * time.Second

// confirm is how long a grant waits for the replicas.
const confirm = 300 * time.Millisecond

// level is a guarantee, and the settings for it.
type level struct {
	name    string
	options []redlatch.LockOption
	fenced  bool // its holds have tokens
	clocked bool // its tokens follow the server's clock

	exclusive bool // promised: two holders never overlap
	growing   bool // promised: no token is given again
}

// plain is the level without any guarantee in a failover.
var plain = level{name: "plain"}

// quorum is the level of independent servers.
var quorum = level{name: "quorum", exclusive: true}

// levels are those of a primary with one or two replicas.
func levels(replicas int) []level {
	type options = []redlatch.LockOption
	all, one := redlatch.WithReplicas(replicas, confirm), redlatch.WithReplicas(1, confirm)
	fixed, fencing := redlatch.WithLease(lease), redlatch.WithFencing()
	list := []level{
		plain,
		{name: "fencing", options: options{fencing}, fenced: true},
		{name: "fencing by the clock", options: options{fencing}, fenced: true, clocked: true, growing: true},
		{name: "replicas", options: options{all}},
		{name: "replicas, fixed lease", options: options{all, fixed}, exclusive: true},
		{name: "replicas and fencing", options: options{all, fencing}, fenced: true, growing: true},
	}
	if replicas > 1 {
		list = append(list,
			level{name: "one replica of two", options: options{one}},
			level{name: "one replica of two, fixed lease", options: options{one, fixed}})
	}
	return list
}

// config is the configuration of every client. Its times are short, so that a short drill shows
// much. A release is repeated for longer than a failover takes, so it leaves no lock behind.
func (l level) config() redlatch.Config {
	return redlatch.Config{
		LeaseTime:      lease,
		PollCap:        500 * time.Millisecond,
		CommandTimeout: time.Second,
		ReleaseTimeout: lease,
		TokenClock:     l.clocked,
		Logger:         slog.New(slog.DiscardHandler), // losses are expected
	}
}

// with are the level's options and one more.
func (l level) with(option redlatch.LockOption) []redlatch.LockOption {
	return append(slices.Clone(l.options), option)
}
