package session

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Session is one client's. Make one with New.
type Session struct {
	settings Settings
	registry registry

	begin sync.Once
	ready chan struct{} // closed when the pulse and the first beat have been acknowledged
	open  func()        // closes ready, once: lets the acquisitions go that wait for the session
	kick  chan struct{} // capacity one: the loop has something to tell
	warn  sync.Once
	limit time.Time // until then an acquisition waits for ready; set by begin

	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup // the loop and the pulse

	beating   atomic.Bool // the last beat was answered; otherwise Redis is not told anything
	watchdogs atomic.Int64
	guarded   atomic.Bool

	// Of the loop.
	quiet int    // beats in a row after which no watchdog would renew
	told  string // the pulse that Redis knows of
	state string // what was logged last

	mu        sync.Mutex
	now       time.Time // by the server's clock,
	nowAt     time.Time // at this moment or before it
	pulseName string    // of the pulse that is acknowledged, "" if there is none
	pulseErr  error     // why there is none
}

// Settings are a session's. All of them are needed.
type Settings struct {
	Client  string // its id
	Listen  func(ctx context.Context, events driver.Events) (driver.Listener, error)
	Runner  *script.Runner
	Lease   time.Duration // of the holds
	Timeout time.Duration // for which the first acquisition waits at most
	Logger  *slog.Logger
}

// New returns a session that does nothing until Ready is called.
func New(settings Settings) *Session {
	ctx, stop := context.WithCancel(context.Background())
	ready := make(chan struct{})
	return &Session{
		settings: settings,
		registry: registry{entries: make(map[string]entry), unsure: make(map[string]struct{})},
		ready:    ready,
		open:     sync.OnceFunc(func() { close(ready) }),
		kick:     make(chan struct{}, 1),
		ctx:      ctx,
		stop:     stop,
	}
}

// Ready begins the session, and waits until a watchdog could find it. It blocks for at
// most Settings.Timeout after it began, and no longer than ctx; then the client goes on
// without protection until it is ready, and says so once.
func (s *Session) Ready(ctx context.Context) {
	s.begin.Do(s.start)
	select {
	case <-s.ready:
		return
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
				"client", s.settings.Client, "pulse", pulse != "", "heartbeat", s.beating.Load(), "error", err)
		})
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

func (s *Session) start() {
	s.limit = time.Now().Add(s.settings.Timeout)
	s.done.Go(s.pulse)
	s.done.Go(s.loop)
}

// Stop ends the session, in Redis too, and waits for its goroutines. It blocks for no
// longer than ctx allows. The error says why the session may still stand in Redis.
func (s *Session) Stop(ctx context.Context) error {
	s.begin.Do(func() {}) // no more
	s.stop()
	s.done.Wait()
	if s.limit.IsZero() { // it never began
		return nil
	}
	_, err := s.settings.Runner.RunAll(ctx, script.SessionDrop(s.settings.Client), script.SessionEnd(s.settings.Client))
	return err
}

// Enter makes the session speak of an entry, whose Until is by the local clock. The note
// is to be sent before the request that the entry is about, and Answered to follow; without
// one there is nothing to send.
func (s *Session) Enter(key string, e script.SessionEntry) (note script.Call, send bool) {
	e = e.Bounded()
	if !s.registry.enter(key, e) || !s.tellable(key) {
		return note, false
	}
	return script.SessionNote(s.settings.Client, s.ttl(), s.stamped(e)).Aside(), true
}

// Leave makes the session not speak of a key any more. The call is to be sent behind the
// request that ends the entry, as in Enter.
func (s *Session) Leave(key string) (forget script.Call, send bool) {
	if !s.registry.leave(key) || !s.tellable(key) {
		return forget, false
	}
	return script.SessionForget(s.settings.Client, key).Aside(), true
}

// tellable says whether Redis is told of a change now. Otherwise the loop tells all when a
// beat is answered again.
func (s *Session) tellable(key string) bool {
	if s.beating.Load() {
		return true
	}
	s.registry.answered(key, true)
	return false
}

// Answered takes note of what came of a call of Enter or Leave.
func (s *Session) Answered(key string, result script.Result) {
	if s.registry.answered(key, !result.Asked.IsZero() && result.Reply.Err == nil) {
		s.rouse()
	}
}

// Drop is Leave without a request to go along with. It does not block.
func (s *Session) Drop(key string) {
	if s.registry.leave(key) {
		s.Answered(key, script.Result{})
	}
}

// Watchdogs is how many of them were alive at the last beat that was answered.
func (s *Session) Watchdogs() int { return int(s.watchdogs.Load()) }

// Guarded says whether one would have renewed for this client then, or a moment before: one
// was alive, and Redis knew of the pulse.
func (s *Session) Guarded() bool { return s.guarded.Load() }

func (s *Session) rouse() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// ttl is for how long the session outlives the last beat.
func (s *Session) ttl() time.Duration { return 2 * s.settings.Lease }

// stamped is an entry as the server is to read it. The moment is rather early than late:
// the server's clock was read before its answer arrived.
func (s *Session) stamped(e script.SessionEntry) script.SessionEntry {
	if !e.Until.IsZero() {
		s.mu.Lock()
		e.Until = s.now.Add(e.Until.Sub(s.nowAt))
		s.mu.Unlock()
	}
	return e
}
