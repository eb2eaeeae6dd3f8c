package lock

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/keepalive"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/names"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Settings are what a manager is made with. They are valid, and none is left out.
type Settings struct {
	ID             string // of NewID, the first half of every owner's name; "": a fresh one
	Name           string // of the client, for people
	Prefix         string // of the key of each lock
	Driver         driver.Driver
	CloseDriver    bool // with the manager
	Messages       protocol.Messages
	Lease          time.Duration
	RenewInterval  time.Duration // of that lease; see Every
	MaxHold        time.Duration // of acquisitions that ask for no end; 0: no limit
	FairWait       time.Duration
	PollCap        time.Duration     // the longest time between two requests of a waiter
	Backoff        waitqueue.Backoff // of all waiters that ask for none; zero: they wait for messages
	CommandTimeout time.Duration
	ReleaseTimeout time.Duration
	TokenClock     bool
	TokenKeep      time.Duration
	Protect        bool
	Logger         *slog.Logger
	Observe        func(context.Context, Event) // nil: nobody observes
}

// Manager is what all locks of one client share: its identity, its connection, the renewal
// engine, the wait queues and the session.
type Manager struct {
	Settings                // which nobody changes
	sharded  driver.Sharded // the driver, if it is one of a cluster

	runner    *script.Runner // for acquisitions and questions
	releases  *script.Runner // for releases, with their own bound
	engine    *renew.Engine
	queues    *waitqueue.Hub
	holders   holders
	keepAlive *keepalive.KeepAlive
	names     *names.Names
	session   *session.Session // nil without Settings.Protect

	waiting, trying Options // of acquisitions without options

	alone     atomic.Bool // the server refuses a request for several slots, so each grant is renewed alone
	lastOwner atomic.Int64
	owed      atomic.Int64 // permits without a lease
	losses    atomic.Int64
	denied    sync.Once                 // the log was told that the server refuses to publish
	silent    atomic.Pointer[time.Time] // since when the last answer is overdue; nil if it is not

	life.Life // what is under way
	reporter  life.Reporter
	early     sync.Once // a shutdown whose time was over before the holds had ended
	earlyErr  error     // once Closed is closed
	closeOnce sync.Once
	closeErr  error // once Closed is closed
}

// NewID is the ID of a manager that is to be made.
func NewID() string { return random.UUID() }

// New starts a manager. It sends nothing.
func New(s Settings) *Manager {
	s.ID = cmp.Or(s.ID, NewID())
	m := &Manager{
		Settings: s,
		runner:   script.NewRunner(s.Driver, s.CommandTimeout),
		releases: script.NewRunner(s.Driver, s.ReleaseTimeout),
		waiting:  Options{Lease: s.Lease, Wait: Forever, MaxHold: s.MaxHold},
		trying:   Options{Lease: s.Lease, MaxHold: s.MaxHold},
	}
	m.Logger = m.reporter.Logger(s.Logger) // nobody waits for its handler
	m.queues = waitqueue.NewHub(m.listen, m.Logger)
	m.queues.Backoff = s.Backoff
	m.Start(m.held)
	m.sharded, _ = s.Driver.(driver.Sharded)
	if s.Protect {
		m.session = session.New(session.Settings{
			Client: m.ID, Listen: guest.Driver(s.Driver).Listen, Runner: m.runner,
			Lease: s.Lease, Waits: m.waits, Timeout: s.CommandTimeout, Stopped: m.Stopping(), Logger: m.Logger,
		})
	}
	m.engine = renew.Start(m.renew, m.guard())
	m.keepAlive = keepalive.New(keepalive.Settings{
		Context: m.Life.Context, Client: m.ID, Runner: m.runner, Shard: m.Shard, Go: m.Go,
	})
	m.names = names.New(m.runner)
	names.Join(m.ID, s.Name)
	return m
}

// listen passes on the messages of releases, without the copies of those that were heard before. A peer that hears
// only the copies, in the plain way, has to heed them.
func (m *Manager) listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	heed := events.Message
	events.Message = func(channel, payload string) {
		switch {
		case protocol.IsRecall(channel, payload):
			m.holders.lookAll(channel)
		case m.Messages == protocol.Plain || !protocol.IsCopy(payload):
			heed(channel, payload)
		}
	}
	return guest.Driver(m.Driver).Listen(ctx, events)
}

// guard says who renews the grants while this process is paused. What the watchdog does not
// renew in time is lost. A pause shorter than a fourth of the lease does not matter: a sound
// grant has more than that left.
func (m *Manager) guard() renew.Guard {
	if m.session == nil {
		return renew.Guard{}
	}
	return renew.Guard{Alive: m.session.Guarded, Gap: m.Lease / 4, Bound: m.CommandTimeout}
}

// Plain are the options of an acquisition that asks for nothing else, and waits forever or not.
func (m *Manager) Plain(wait time.Duration) *Options {
	if wait == 0 {
		return &m.trying
	}
	return &m.waiting
}

// Engine renews the grants.
func (m *Manager) Engine() *renew.Engine { return m.engine }

// Key is the key of a name.
func (m *Manager) Key(name string) string { return m.Prefix + name }

// Runner sends what acquires and asks, Releases what releases, each with its own bound.
func (m *Manager) Runner() *script.Runner   { return m.runner }
func (m *Manager) Releases() *script.Runner { return m.releases }

// Queues are the wait queues of this process.
func (m *Manager) Queues() *waitqueue.Hub { return m.queues }

// Silent says that a request had no answer a short while ago, and none had one since then.
func (m *Manager) Silent() bool {
	since := m.silent.Load()
	return since != nil && time.Since(*since) < 10*m.CommandTimeout
}

// Names are the names of other clients.
func (m *Manager) Names() *names.Names { return m.names }

// Sharded says that several servers divide the keys among themselves.
func (m *Manager) Sharded() bool { return m.sharded != nil }

// Shard names the server that has a lock, "" if all are on one.
func (m *Manager) Shard(name string) string {
	if m.sharded == nil {
		return ""
	}
	return m.sharded.Shard(name)
}

// Owe changes by n how many permits without a lease this client has. Shutdown waits until there are none.
func (m *Manager) Owe(n int) {
	if m.owed.Add(int64(n)); n < 0 {
		m.Ended()
	}
}

// held is how many locks and permits the client has.
func (m *Manager) held() int { return m.engine.Len() + int(m.owed.Load()) }

// Stopped says that nobody is to wait any more. Waiters are woken then.
func (m *Manager) Stopped() bool { return m.Life.Context.Err() != nil }

// Stopping is closed when nobody is to wait any more.
func (m *Manager) Stopping() <-chan struct{} { return m.Life.Context.Done() }

// Losses is how many grants were lost so far.
func (m *Manager) Losses() int64 { return m.losses.Load() }

// OldestHolds is how long the oldest hold of each kind is held by now. A kind without holds is left out.
func (m *Manager) OldestHolds() map[LockKind]time.Duration {
	ages, now := make(map[LockKind]time.Duration), time.Now()
	for _, item := range m.engine.Items() {
		g := item.Subject.(*Grant)
		g.mu.Lock()
		for _, h := range g.holds {
			e := h.event(g.ref, "", now)
			ages[e.LockKind] = max(ages[e.LockKind], e.Took)
		}
		g.mu.Unlock()
	}
	return ages
}

// Protected is how many grants the session has entered, and how many watchdogs there are for them.
func (m *Manager) Protected() (grants, watchdogs int) {
	if m.session == nil {
		return 0, 0
	}
	for _, item := range m.engine.Items() {
		if item.Term().Every > 0 && !item.Subject.(*Grant).ref.permits {
			grants++
		}
	}
	return grants, m.session.Watchdogs()
}

// Every is the renewal interval of a lease, in the proportion of the settings.
func (s *Settings) Every(lease time.Duration) time.Duration {
	if lease == s.Lease {
		return s.RenewInterval
	}
	return min(s.RenewInterval, lease/3)
}
