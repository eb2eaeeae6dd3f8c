package watchdog

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch"
)

// Config has the settings of a Watchdog. The zero value of each field means its default.
type Config struct {
	// MaxPause is how long the holds of a client without a heartbeat are renewed. A machine
	// that has lost its power or its network also keeps its locks for that long, because Redis
	// cannot tell that from a pause. Default: 2m.
	MaxPause time.Duration

	// Look is the interval at which the watchdog looks for overdue heartbeats. It is at most
	// 1s, and should be at most a tenth of the shortest lease. Default: 200ms.
	Look time.Duration

	// CommandTimeout bounds one request with its repetitions. Default: 1s.
	CommandTimeout time.Duration

	// Logger reports whose holds are renewed, which clients came back, and which sessions were
	// removed. Nobody waits for it, and a panic of its handler loses an entry. Default: slog.Default().
	Logger *slog.Logger
}

// The limits of Look. A shorter interval loads Redis; with a longer one a pause is noticed too
// late.
const (
	defaultLook = 200 * time.Millisecond

	minLook = 10 * time.Millisecond
	maxLook = time.Second
)

// withDefaults fills in the defaults and checks every field. The error is a
// *redlatch.ConfigError.
func (c Config) withDefaults() (Config, error) {
	c.MaxPause = cmp.Or(c.MaxPause, 2*time.Minute)
	c.Look = cmp.Or(c.Look, defaultLook)
	c.CommandTimeout = cmp.Or(c.CommandTimeout, time.Second)
	c.Logger = cmp.Or(c.Logger, slog.Default())
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

// aliveFor is how long a watchdog counts as alive after a look. It still does after one missed
// look.
func (c Config) aliveFor() time.Duration { return c.Look * 5 / 2 }

func wrong(field, format string, args ...any) error {
	return &redlatch.ConfigError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
