package session

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/signal"
)

// Session is one client's. Make one with New.
type Session struct {
	settings Settings
	registry registry

	begin sync.Once
	ready chan struct{} // closed when the pulse and the first heartbeat have been acknowledged
	open  func()        // closes ready, once
	kick  chan struct{} // capacity one: the loop has something to tell
	warn  sync.Once
	limit time.Time // until then an acquisition waits for ready; set by begin

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup // the loop and the pulse

	watchdogs atomic.Int64
	guarded   atomic.Bool

	// Of the loop.
	unguarded int    // heartbeats in a row after which no watchdog would renew
	told      string // the pulse that Redis knows of
	waits     waits
	state     string // what was logged last

	mu        sync.Mutex
	now       time.Time // by the server's clock,
	nowAt     time.Time // at this moment or before it,
	asked     time.Time // but after this one
	pulseName string    // of the pulse that is acknowledged, "" if there is none
	pulseErr  error     // why there is none
}

// Settings are a session's. All of them are required.
type Settings struct {
	Client  string // its id
	Listen  func(ctx context.Context, events driver.Events) (driver.Listener, error)
	Runner  *script.Runner
	Lease   time.Duration                                   // of the holds
	Waits   func(limit int, before time.Time) []script.Wait // that began before, with Since by the local clock, the longest first
	Timeout time.Duration                                   // the longest wait of the first acquisition
	Stopped <-chan struct{}                                 // closed when nothing is acquired any more
	Logger  *slog.Logger
}

// New returns a session that does nothing until Ready is called.
func New(settings Settings) *Session {
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	return &Session{
		settings: settings,
		registry: registry{entries: make(map[string]script.SessionEntry), unconfirmed: make(map[string]struct{}), anew: true},
		ready:    ready,
		open:     sync.OnceFunc(func() { close(ready) }),
		kick:     make(chan struct{}, 1),
		ctx:      ctx,
		stop:     stop,
	}
}

// Ready begins the session, and waits until a watchdog could find it. It blocks until
// Settings.Timeout after the beginning at the latest, and no longer than ctx. If the session is
// not ready by then, Ready logs that once, and the client goes on without protection until the
// session is ready. It reports false if the client stops meanwhile.
func (s *Session) Ready(ctx context.Context) bool {
	s.begin.Do(s.start)
	select {
	case <-s.ready:
		return true
	default:
	}
	timer := time.NewTimer(time.Until(s.limit))
	defer timer.Stop()
	select {
	case <-s.ready:
	case <-timer.C:
		s.warn.Do(func() {
			pulse, err := s.currentPulse()
			s.settings.Logger.Warn("redlatch: going on without protection: the session is not acknowledged yet",
				"client", s.settings.Client, "pulse", pulse != "", "error", err)
		})
	case <-ctx.Done():
	case <-s.settings.Stopped:
		return false
	}
	return true
}

func (s *Session) start() {
	s.limit = time.Now().Add(s.settings.Timeout)
	s.done.Go(s.pulse)
	s.done.Go(s.loop)
}

// Stop ends the session, in Redis too, and waits for its goroutines. It blocks no longer than
// ctx. The error says why the session may still be in Redis.
func (s *Session) Stop(ctx context.Context) error {
	s.begin.Do(func() {}) // no more
	s.stop()
	s.done.Wait()
	if s.limit.IsZero() { // it never began
		return nil
	}
	calls := []script.Call{script.SessionDrop(s.settings.Client), script.SessionEnd(s.settings.Client)}
	if s.waits.told {
		calls = append(calls, script.SessionWaits(s.settings.Client, s.ttl()))
	}
	_, err := s.settings.Runner.RunAll(ctx, calls...)
	return err
}

// Enter adds an entry, whose Until is by the local clock, or changes it. It does not block: the loop tells Redis.
func (s *Session) Enter(e script.SessionEntry) {
	if s.registry.enter(e.Key(), e.Bounded()) {
		signal.Send(s.kick)
	}
}

// Leave removes the entry of a key. It does not block.
func (s *Session) Leave(key string) {
	if s.registry.leave(key) {
		signal.Send(s.kick)
	}
}

// Watchdogs is how many watchdogs were alive at the last answered heartbeat.
func (s *Session) Watchdogs() int { return int(s.watchdogs.Load()) }

// Guarded says whether a watchdog would have renewed for this client at the last heartbeat, or
// shortly before: one was alive, and Redis knew the pulse.
func (s *Session) Guarded() bool { return s.guarded.Load() }

// interval is the time between two heartbeats.
func (s *Session) interval() time.Duration { return s.settings.Lease / 6 }

// ttl is how long the session outlives the last heartbeat.
func (s *Session) ttl() time.Duration { return 2 * s.settings.Lease }

// byServerClock is an entry with its Until by the server's clock. It is rather too early than
// too late: the server's clock was read before its answer arrived.
func (s *Session) byServerClock(e script.SessionEntry) script.SessionEntry {
	if !e.Until.IsZero() {
		e.Until = s.serverTime(e.Until)
	}
	return e
}

// serverTime is a moment by the server's clock.
func (s *Session) serverTime(local time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now.Add(local.Sub(s.nowAt))
}
