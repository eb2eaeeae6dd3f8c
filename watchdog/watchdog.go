package watchdog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/script"
)

// Watchdog renews the locks of paused processes. Any number of watchdogs may do that side by
// side. It is safe for concurrent use.
type Watchdog struct {
	id       string
	config   Config
	driver   driver.Driver
	runner   *script.Runner
	reporter life.Reporter
	log      *slog.Logger // by the reporter
	counters counters
	began    atomic.Bool

	schedule schedule
	servers  servers
	masters  masters
	slots    chan struct{} // one for each visit under way that is not in the lane
	lane     lane
	visits   sync.WaitGroup // the goroutines of all visits
	served   atomic.Bool    // since the last look a visit succeeded
	denied   atomic.Bool    // since the last look a visit was forbidden

	// Of the goroutine that runs it.
	able        bool     // Redis does not forbid the work
	unreachable bool     // the last look was not answered
	unlisted    bool     // Redis refused to list it at the last look
	alive       []string // watchdogs at the last look
	pages       pages
}

// New returns a watchdog on a connection of the caller. The watchdog does not close it. New sends
// nothing. The error is a *redlatch.ConfigError.
func New(d driver.Driver, cfg Config) (*Watchdog, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := lockerr.Missing("driver", d); err != nil {
		return nil, err
	}
	id := random.UUID()
	w := &Watchdog{
		id:       id,
		config:   cfg,
		driver:   d,
		runner:   script.NewRunner(d, cfg.CommandTimeout),
		schedule: schedule{records: make(map[string]record), mine: func(string) bool { return true }},
		servers:  servers{silent: make(map[string]time.Time), wait: cfg.Look, bound: cfg.CommandTimeout},
		slots:    make(chan struct{}, maxActive),
		lane:     lane{places: make(chan struct{}, maxLarge), active: make(chan struct{}, 1)},
		counters: counters{Stats: Stats{Started: time.Now()}},
		able:     true,
	}
	w.log = w.reporter.Logger(cfg.Logger).With("watchdog", id)
	return w, nil
}

// ErrRunning is the error of a second Run. A watchdog runs once.
var ErrRunning = errors.New("watchdog: it runs already, or has run")

// Run does the work until ctx ends. Then it tells the other watchdogs that it is gone, so that
// they take over at once, and returns nil. While Redis cannot be reached it keeps trying, and
// says so in the log and in Stats. The only error is ErrRunning.
func (w *Watchdog) Run(ctx context.Context) error {
	if !w.began.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer w.reporter.Wait(w.config.CommandTimeout)
	defer w.leave()
	defer w.visits.Wait()
	ticker := time.NewTicker(w.config.Look)
	defer ticker.Stop()
	for {
		if due := w.round(ctx, ticker.C); due {
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// leave tells the other watchdogs not to count on this one. If the request fails, they find out
// by themselves.
func (w *Watchdog) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), w.config.CommandTimeout)
	defer cancel()
	_, _ = w.runner.Run(ctx, script.WatchdogHeartbeat(w.id, 0))
}
