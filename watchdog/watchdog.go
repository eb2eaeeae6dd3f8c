package watchdog

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Watchdog renews the locks of paused processes, as one of any number that do. Its
// methods may be called by any number of goroutines.
type Watchdog struct {
	id     string
	config Config
	driver driver.Driver
	runner *script.Runner
	log    *slog.Logger
	tally  tally
	began  atomic.Bool

	schedule schedule
	servers  servers
	masters  masters
	room     chan struct{} // one for each visit under way that is not in the lane
	lane     lane
	visits   sync.WaitGroup // the goroutines of those
	served   atomic.Bool    // since the last look a visit went well,
	denied   atomic.Bool    // or was forbidden

	// Of the goroutine that runs it.
	able   bool // Redis does not forbid the work
	blind  bool // the last look was not answered
	unsaid bool // Redis refused to list it at the last look
	pass   int  // how many of the stalled the next look passes over
	all    int  // how many there were at the last look
	recent bool // the next look sees those that are overdue for the shortest
}

// New returns a watchdog on a connection of the caller's, which outlives it. It sends
// nothing. The error is a *redlatch.ConfigError.
func New(d driver.Driver, cfg Config) (*Watchdog, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	id := uuid.NewString()
	return &Watchdog{
		id:       id,
		config:   cfg,
		driver:   d,
		runner:   script.NewRunner(d, cfg.CommandTimeout),
		log:      cfg.Logger.With("watchdog", id),
		schedule: schedule{turns: make(map[string]turn)},
		servers:  servers{silent: make(map[string]time.Time), wait: cfg.Look, bound: cfg.CommandTimeout},
		room:     make(chan struct{}, mostVisits),
		lane:     newLane(),
		tally:    tally{Stats: Stats{Started: time.Now()}},
		able:     true,
	}, nil
}

// ErrRunning is the error of a second Run: a watchdog runs once.
var ErrRunning = errors.New("watchdog: it runs already, or has run")

// Run does the work until ctx ends, which is no error: it then tells the others that it is
// gone, so that they take over at once, and returns nil. While Redis cannot be reached it
// goes on looking, and says so in the log and by Stats. The only error is ErrRunning.
func (w *Watchdog) Run(ctx context.Context) error {
	if !w.began.CompareAndSwap(false, true) {
		return ErrRunning
	}
	defer w.leave()
	defer w.visits.Wait()
	ticker := time.NewTicker(w.config.Look)
	defer ticker.Stop()
	for {
		if due := w.turn(ctx, ticker.C); due {
			continue
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil
		}
	}
}
