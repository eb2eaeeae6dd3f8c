package watchdog

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
)

// Config are the settings of a Watchdog. The zero value of each field is its documented
// default.
type Config struct {
	// MaxPause is for how long a client that does not say that it runs is taken for
	// paused, and its holds are renewed: 2 m. It is also for how long a lock stays held
	// by a machine that has lost its power or its network, for Redis cannot tell that
	// from a pause.
	MaxPause time.Duration

	// Look is how often overdue heartbeats are looked for: 200 ms. At most 1 s, and
	// best no more than a tenth of the shortest lease.
	Look time.Duration

	// CommandTimeout bounds one request with its repetitions: 1 s.
	CommandTimeout time.Duration

	// Logger is told whose holds are renewed, who came back, and who was let go:
	// slog.Default.
	Logger *slog.Logger
}

// The limits of Look: below, it is a load; above, a pause is noticed too late.
const (
	minLook = 10 * time.Millisecond
	maxLook = time.Second
)

// withDefaults fills in the defaults and checks every field. The error is a
// *redlatch.ConfigError.
func (c Config) withDefaults() (Config, error) {
	orDefault(&c.MaxPause, 2*time.Minute)
	orDefault(&c.Look, 200*time.Millisecond)
	orDefault(&c.CommandTimeout, time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.MaxPause < time.Second:
		return c, wrong("MaxPause", "%v is below 1s", c.MaxPause)
	case c.Look < minLook || c.Look > maxLook:
		return c, wrong("Look", "%v is not between %v and %v", c.Look, minLook, maxLook)
	case c.CommandTimeout < time.Millisecond:
		return c, wrong("CommandTimeout", "%v is below 1ms", c.CommandTimeout)
	}
	return c, nil
}

// aliveFor is for how long a watchdog counts as alive after a look. One that is late by
// one look is not taken for dead.
func (c Config) aliveFor() time.Duration { return c.Look * 5 / 2 }

func orDefault(d *time.Duration, otherwise time.Duration) {
	if *d == 0 {
		*d = otherwise
	}
}

func wrong(field, format string, args ...any) error {
	return &redlatch.ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
