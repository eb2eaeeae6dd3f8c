package inspect

import (
	"cmp"
	"fmt"
	"time"

	"github.com/redlatch/redlatch"
)

// Config has the settings of an Inspector. The zero value of each field means its default.
type Config struct {
	// Rate limits the commands that the Inspector sends in a second, to all servers together. A SCAN
	// counts as one command for every hundred keys of Step, and so do the questions whether a hash is a lock at
	// all: three for each. From 1 to 1,000,000. Default: 1000.
	Rate int

	// Step is how many keys a server examines in one SCAN. Meanwhile the server answers no other
	// client. A thousand keys take about a millisecond. From 10 to 100,000. Default: 1000.
	Step int

	// NoWaiters leaves out how many processes wait, which needs a right of its own. Lock.Waiting and Counter.Waiting
	// are -1 then.
	NoWaiters bool

	// CommandTimeout limits one request with its repetitions. Default: 3s.
	CommandTimeout time.Duration
}

// The limits of Rate and Step.
const (
	maxRate = 1_000_000
	minStep = 10
	maxStep = 100_000
)

// withDefaults fills in the defaults and checks every field. The error is a
// *redlatch.ConfigError.
func (c Config) withDefaults() (Config, error) {
	c.Rate = cmp.Or(c.Rate, 1000)
	c.Step = cmp.Or(c.Step, 1000)
	c.CommandTimeout = cmp.Or(c.CommandTimeout, 3*time.Second)
	switch {
	case c.Rate < 1 || c.Rate > maxRate:
		return c, wrong("Rate", "%d is not between 1 and %d", c.Rate, maxRate)
	case c.Step < minStep || c.Step > maxStep:
		return c, wrong("Step", "%d is not between %d and %d", c.Step, minStep, maxStep)
	case c.CommandTimeout < time.Millisecond:
		return c, wrong("CommandTimeout", "%v is below 1ms", c.CommandTimeout)
	}
	return c, nil
}

func wrong(field, format string, args ...any) error {
	return &redlatch.ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
