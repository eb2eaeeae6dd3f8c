package lock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Settings are what a manager is made with. They are valid, and none is left out.
type Settings struct {
	Driver         driver.Driver
	CloseDriver    bool // with the manager
	Messages       protocol.Messages
	Lease          time.Duration
	RenewInterval  time.Duration // of that lease
	FairWait       time.Duration
	PollCap        time.Duration
	CommandTimeout time.Duration
	ReleaseTimeout time.Duration
	TokenClock     bool
	Protect        bool
	Logger         *slog.Logger
	Observe        func(context.Context, Event) // nil: nobody observes
}

// Manager is what all locks of one client share: its identity, its connection, the renewal
// engine, the wait queues and the session.
type Manager struct {
	id       string
	settings Settings
	sharded  driver.Sharded // the driver, if it is one of a cluster

	runner    *script.Runner // for acquisitions and questions
	releases  *script.Runner // for releases, with their own bound
	engine    *renew.Engine
	queues    *waitqueue.Hub
	keepAlive *keepAlive
	session   *session.Session // nil without Settings.Protect

	lastOwner atomic.Int64
	losses    atomic.Int64
	denied    sync.Once // the log was told that the server refuses to publish

	life      lifecycle
	reporter  reporter
	closeOnce sync.Once
	closeErr  error // once life.closed is closed
}

// New starts a manager. It sends nothing.
func New(s Settings) *Manager {
	m := &Manager{
		id:       uuid.NewString(),
		settings: s,
		runner:   script.NewRunner(s.Driver, s.CommandTimeout),
		releases: script.NewRunner(s.Driver, s.ReleaseTimeout),
		queues:   waitqueue.NewHub(listen(s.Driver, s.Messages), s.Logger),
	}
	m.life.start()
	m.sharded, _ = s.Driver.(driver.Sharded)
	if s.Protect {
		m.session = session.New(session.Settings{
			Client: m.id, Listen: s.Driver.Listen, Runner: m.runner,
			Lease: s.Lease, Timeout: s.CommandTimeout, Logger: s.Logger,
		})
	}
	m.engine = renew.Start(m.renew, m.guard())
	m.keepAlive = newKeepAlive(m)
	return m
}

// listen is d.Listen without the copies of messages that were heard before. A peer that hears
// only the copies, in the plain way, has to heed them.
func listen(d driver.Driver, messages protocol.Messages) waitqueue.Listen {
	if messages == protocol.Plain {
		return d.Listen
	}
	return func(ctx context.Context, events driver.Events) (driver.Listener, error) {
		heed := events.Message
		events.Message = func(channel, payload string) {
			if !protocol.IsCopy(payload) {
				heed(channel, payload)
			}
		}
		return d.Listen(ctx, events)
	}
}

// guard says who renews the grants while this process is paused. What the watchdog does not
// renew in time is lost. A pause shorter than a fourth of the lease does not matter: a sound
// grant has more than that left.
func (m *Manager) guard() renew.Guard {
	if m.session == nil {
		return renew.Guard{}
	}
	return renew.Guard{Alive: m.session.Guarded, Gap: m.settings.Lease / 4, Bound: m.settings.CommandTimeout}
}

// ID is the first half of every owner's name.
func (m *Manager) ID() string { return m.id }

// Lease is the lease of an acquisition that asks for none.
func (m *Manager) Lease() time.Duration { return m.settings.Lease }

// PollCap is the longest time between two requests of a waiter.
func (m *Manager) PollCap() time.Duration { return m.settings.PollCap }

// RenewInterval is the renewal interval of a lease.
func (m *Manager) RenewInterval(lease time.Duration) time.Duration { return m.settings.every(lease) }

// Engine renews the grants. It is for tests that hold it up.
func (m *Manager) Engine() *renew.Engine { return m.engine }

// Sharded says that several servers divide the keys among themselves.
func (m *Manager) Sharded() bool { return m.sharded != nil }

// shard names the server that has a lock, "" if all are on one.
func (m *Manager) shard(name string) string {
	if m.sharded == nil {
		return ""
	}
	return m.sharded.Shard(name)
}

// Enter admits an operation for which Close waits, until Leave. It reports false if the manager
// is closing.
func (m *Manager) Enter() bool { return m.life.enter() }

// Leave ends an operation.
func (m *Manager) Leave() { m.life.leave() }

// Go runs work for which no caller waits, but Close does if the work begins before Close is done
// waiting.
func (m *Manager) Go(work func()) { m.life.background.Go(work) }

// Stats counts what a manager has done and does. See redlatch.Stats.
type Stats struct {
	Holds          int
	Waiters        int
	Subscriptions  int
	Renewals       int64
	LateRenewals   int64
	FailedRenewals int64
	Losses         int64
	Rescued        int64
	Watchdogs      int
}

// Stats returns a snapshot. It does not touch Redis.
func (m *Manager) Stats() Stats {
	counts := m.engine.Counts()
	stats := Stats{
		Holds:          m.engine.Len(),
		Waiters:        m.queues.Waiting(),
		Subscriptions:  m.queues.Subscribed(),
		Renewals:       counts.Renewals,
		LateRenewals:   counts.Late,
		FailedRenewals: counts.Failures,
		Losses:         m.losses.Load(),
		Rescued:        counts.Rescued,
	}
	if m.session != nil {
		stats.Watchdogs = m.session.Watchdogs()
	}
	return stats
}

// Close releases every hold, cancels every wait, and ends every goroutine. It blocks until that
// is done or ctx has ended. Then it goes on by itself, and a further call waits for it.
func (m *Manager) Close(ctx context.Context) error {
	m.closeOnce.Do(func() {
		empty := m.life.close()
		go m.shut(empty)
	})
	select {
	case <-m.life.closed:
		return m.closeErr
	case <-ctx.Done():
		return fmt.Errorf("redlatch: close: still under way: %w", context.Cause(ctx))
	}
}

func (m *Manager) shut(empty <-chan struct{}) {
	<-empty
	m.closeErr = m.releaseAll()
	m.engine.Stop()
	m.life.background.wait()
	m.endSession()
	m.queues.Stop()
	m.reporter.wait(m.settings.ReleaseTimeout)
	if m.settings.CloseDriver {
		m.settings.Driver.Close()
	}
	close(m.life.closed)
}

// releaseAll releases everything that is held: many locks in one request, the servers of a
// cluster side by side. One that cannot be released costs the others nothing.
func (m *Manager) releaseAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), m.settings.ReleaseTimeout)
	defer cancel()
	var ended []*Grant
	for _, item := range m.engine.Items() {
		if g := item.Subject.(*Grant); g.close() {
			g.remove()
			ended = append(ended, g)
		}
	}
	calls := make([]script.Call, len(ended))
	for i, g := range ended {
		calls[i] = g.releaseCall()
	}
	var failed []error
	for i, result := range m.releases.RunEach(ctx, calls...) {
		if err := result.Reply.Err; err != nil {
			failed = append(failed, Failure("unlock", ended[i].ref.Name, err))
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("redlatch: close: up to %d locks stay until their leases end, among them: %w", len(failed), failed[0])
	}
	return nil
}

// endSession ends the session. If that fails, the watchdog removes what is left of it in Redis,
// or it expires.
func (m *Manager) endSession() {
	if m.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), m.settings.ReleaseTimeout)
	defer cancel()
	if err := m.session.Stop(ctx); err != nil {
		m.settings.Logger.Warn("redlatch: close: the session stays until it expires", "client", m.id, "error", err)
	}
}

// every is the renewal interval of a lease, in the proportion of the settings.
func (s *Settings) every(lease time.Duration) time.Duration {
	if lease == s.Lease {
		return s.RenewInterval
	}
	return min(s.RenewInterval, lease/3)
}
