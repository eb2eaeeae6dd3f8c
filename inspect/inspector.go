package inspect

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Inspector reads locks, semaphores and latches. It is safe for concurrent use. All its methods share one
// Config.Rate.
type Inspector struct {
	config    Config
	driver    driver.Driver
	pace      *pace
	masters   masters
	processes processes
	notices   notices
	refusals  refusals
}

// New returns an inspector that uses a connection of the caller, for example Client.Driver. The inspector
// does not close the connection. New sends nothing. The error is a *redlatch.ConfigError.
func New(d driver.Driver, cfg Config) (*Inspector, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := lockerr.Missing("driver", d); err != nil {
		return nil, err
	}
	return &Inspector{config: cfg, driver: d, pace: newPace(cfg.Rate),
		refusals: refusals{all: make(map[string]error)}, processes: processes{absent: make(map[string]bool)}}, nil
}

// Notices returns what the Inspector could not read, because the user lacks a right or the server does
// not know the command. Each notice is one sentence that names the right or the command.
func (i *Inspector) Notices() []string { return i.notices.list() }

// Lock reads one lock. A free lock has the Mode "", and is no error.
//
// The error is ErrWrongType if the key is no lock. The Lock then has a finding that says so. To read the
// key of a semaphore or a latch, use Counter. The error is a *RightError if this user may not read the lock.
// Other errors are those of the network or the server.
func (i *Inspector) Lock(ctx context.Context, name string) (Lock, error) {
	if name == "" {
		return Lock{}, fmt.Errorf("inspect: %w: the name is empty", redlatch.ErrInvalidName)
	}
	found, err := i.readAll(ctx, []string{name})
	if err != nil {
		return Lock{Name: name}, err
	}
	one := found[0]
	if one.err != nil {
		i.nameCounter(ctx, &one)
		return one.lock, fmt.Errorf("inspect: lock %q: %w", name, one.err)
	}
	locks := []Lock{one.lock}
	i.complete(ctx, locks)
	return locks[0], nil
}

// batch is how many locks one request reads. It takes a tenth of a second's commands at most.
func (i *Inspector) batch() int { return max(1, min(100, i.config.Rate/10)) }
