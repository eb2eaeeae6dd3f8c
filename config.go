package redlatch

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Config are the settings of a client. A field with its zero value has the
// documented default.
type Config struct {
	// Name tells people which process the client is in. Open names each of its connections
	// "redlatch:", Client.ID, ":", Name. So CLIENT LIST shows the process of an owner. Status and
	// ErrNotAcquired name it if they know it. Default: the program, the host and the process ID,
	// such as "billing@web-3:4711". At most 128 visible ASCII characters.
	Name string

	// Prefix stands in front of the name of each lock in Redis: with "orders:" the lock "1001" is
	// the key "orders:1001". All other keys and channels of the lock follow from that one. It does
	// what a NameMapper does in Redisson. Errors, events and Status show the name without it. It
	// must have no brace, because a brace decides on which server of a Cluster a lock is. Default:
	// none.
	Prefix string

	// LeaseTime is the time to live of a lock in Redis. The lock of a dead holder
	// stays locked for at most that long. Default: 30s, as Redisson's
	// lockWatchdogTimeout. At least 10 ms.
	LeaseTime time.Duration

	// RenewInterval is the time between two renewals of a hold without a fixed lease. Default: a third of the lease. At
	// most half of LeaseTime, so that a failed renewal can be repeated in time.
	RenewInterval time.Duration

	// MaxHold ends each hold after this time, as WithMaxHold does, so that a forgotten Unlock or work that hangs keeps no
	// lock for ever. An acquisition with WithMaxHold, WithLease or WithCohort ignores it. WithMinHold raises it if it is
	// shorter. Of the members of a Multi or a Quorum the shortest one counts, and the confirmation costs one more round
	// trip. It also ends a leadership, after which leader.Run stands again. Default: no limit. At least 10 ms.
	MaxHold time.Duration

	// FairWait is how long Java peers wait for a waiter for a fair lock before they take it for dead. It counts from the
	// deadline of the waiter in front. Default: 5m, as Redisson's fairLockWaitTimeout. Set both to the same value. At
	// least 10 s.
	FairWait time.Duration

	// PollCap is the longest time between two requests of a waiter, with or without messages. Waiters for a FairMutex ask
	// up to six times as seldom. For them, the client looks once a second. Default: 5s. At least 50 ms. The actual pause
	// is up to a fifth shorter, at random, so that processes do not ask all at once.
	PollCap time.Duration

	// Backoff makes every wait of the client ask Redis again and again, as WithBackoff does for one
	// acquisition. The client then subscribes to nothing, and publishes in scripts alone. Set it if
	// the server, a proxy or the user's rights do not allow messages. If the server
	// refuses the message of a release, the lock is released nevertheless. A waiter asks at most
	// Backoff.Max after a release by another process, and at once after one by its own. Default: waiters wait for
	// messages. It cannot be combined with Protect.
	Backoff Backoff

	// OldestPeer is the oldest Redisson, such as "3.16.8", among the Java processes that
	// share the locks, or "none" if there is no Java. It decides how releases are announced.
	// Exclusion does not depend on it. A waiter that misses a message asks after PollCap, or
	// in Java when the lease ends. Default: every peer from 3.10.3 on is woken. In a Cluster
	// of Redis 7 the default costs a second message. "3.22.0" and later, or "none", save it.
	OldestPeer string

	// RestartDelay is how long a Quorum ignores a restarted server, because it may have
	// forgotten who holds the lock. Default: LeaseTime. At least the longest lease of all
	// who use the quorum. A negative value says that the servers forget nothing, because each
	// write is on disk before it is answered (appendfsync always). Then only
	// its identity counts, not how long it has been up.
	RestartDelay time.Duration

	// TokenClock raises each new fencing token to at least the server's time in microseconds.
	// Tokens then keep growing after a failover that has lost increments, if the servers'
	// clocks agree to within the time of a failover. Default: tokens count by one, like
	// Redisson's. Java peers always count on from the last token.
	TokenClock bool

	// TokenKeep lets the counter of a lock's tokens expire this long after its last token. Set it
	// if there are very many names. It needs TokenClock: then the next token comes from the
	// server's clock. It is greater than all before it, unless that clock goes back by TokenKeep or
	// more. All who take fenced holds of these names must set TokenClock. A Java FencedLock would
	// begin at 1 again. Default: counters never expire. At least LeaseTime.
	TokenKeep time.Duration

	// ConnectTimeout is how long Open tries to connect. Default: 0, one attempt. Set it if the service may start before
	// its Redis. Each attempt takes CommandTimeout at most. Open logs the first failure. It gives up at once if the URL or
	// a setting is wrong, the server refuses the user, or a certificate is not valid. If negative, Open returns a
	// client after one attempt, even if the server cannot be reached. The client goes on trying. Until it is connected,
	// its calls fail and say why. So a Quorum can begin while a server is down. Not for a Cluster. New does not connect.
	ConnectTimeout time.Duration

	// CommandTimeout bounds one operation on Redis, with its repetitions. Default: 3s. A
	// shorter outage only delays the operation. A longer one is reported as an error.
	CommandTimeout time.Duration

	// ReleaseTimeout bounds Unlock, which does not end with its context. Default: 3s. If a
	// failover takes longer, the lock stays until its lease ends.
	ReleaseTimeout time.Duration

	// Protect has the independent watchdog (redlatch watchdog) renew the holds while this process
	// is paused. When the process goes on, a hold whose deadline has passed is not valid until
	// Redis has confirmed it. That takes one round trip, CommandTimeout at most. If Redis does not
	// confirm it, the hold is lost, and only then does its context end.
	//
	// LeaseTime must be at least 1 s. Holds with a fixed lease are not protected. Without a
	// living watchdog no hold is protected, and Stats and the log say so.
	//
	// Protect costs one more connection, and six small requests in each LeaseTime. Further requests tell Redis of the holds.
	// Lock and Unlock do not wait for them, so a hold is protected from one or two round trips after Lock on. Only the first
	// acquisition waits: until a watchdog could find the client, for CommandTimeout at most.
	Protect bool

	// TLS is the configuration for rediss://, rediss+sentinel:// and rediss+cluster:// URLs, such
	// as your own certificate authorities and a client certificate. It applies to all servers and
	// sentinels. Default: the system's certificate authorities are trusted.
	TLS *tls.Config

	// Credentials returns the user and the password of a server, for passwords that are
	// rotated and for tokens that expire. The client that Open made calls it at each new
	// connection to a server, not for sentinels. An empty user is the default one. The
	// address is the server's own, before AddressMap.
	//
	// It must end with ctx, and may be called by several goroutines. Its error ends the
	// attempt to connect. The URL must then have no user and no password. Existing
	// connections are not logged in again.
	Credentials func(ctx context.Context, address string) (user, password string, err error)

	// AddressMap translates each address that the URL, a sentinel or a server of a Cluster
	// names. Set it if this process cannot reach these addresses, for example behind NAT. It
	// gets and returns host:port, must not block, and may be called by several goroutines.
	// With TLS, certificates are checked against its result.
	AddressMap func(address string) string

	// Logger gets what no call reports, such as a hold that was lost. Only Open waits for its handler, and Close for
	// ReleaseTimeout at most. Default: slog.Default.
	Logger *slog.Logger

	// Observer gets every event, for metrics and traces. Not a nil pointer or function. Default: none.
	Observer Observer
}

// Backoff says for how long a waiter pauses between two requests to Redis. The first pause is First. Each
// further one is twice as long, up to Max. The actual pause is up to half shorter, at random.
type Backoff struct {
	First time.Duration // Default: 1ms. At least 1 ms.
	Max   time.Duration // At least First. Redisson's spin lock uses 128 ms.
}

// minPause keeps a waiter that polls from becoming a load on the server.
const minPause = time.Millisecond

// check fills in the default, and says what is wrong with a backoff of that field or option.
func (b *Backoff) check(field string) error {
	b.First = cmp.Or(b.First, minPause)
	for _, pause := range []struct {
		which    string
		d, least time.Duration
	}{{"first", b.First, minPause}, {"max", b.Max, b.First}} {
		if pause.d < pause.least || pause.d > longest {
			return &ConfigError{Field: field, Reason: fmt.Sprintf("%s is %v, not between %v and %v", pause.which, pause.d, pause.least, longest)}
		}
	}
	return nil
}

// minLease is the shortest lease: below it, the margin and the round trips leave
// no time to work.
const minLease = 10 * time.Millisecond

// longest is the longest of all times: more is a mistake, and sums of it would overflow.
const longest = 10 * 365 * 24 * time.Hour

// minRenewInterval keeps renewals from becoming a load on the server.
const minRenewInterval = time.Millisecond

// minProtected leaves a watchdog time to notice a pause before the lease ends.
const minProtected = time.Second

// minPollCap keeps a waiter from becoming a load on the server.
const minPollCap = 50 * time.Millisecond

// minFairWait leaves the keep-alive time to raise the deadline of a waiter.
const minFairWait = 10 * time.Second

// withDefaults fills in the defaults and checks every field, also against each
// other.
func (c Config) withDefaults() (Config, error) {
	c.Name = cmp.Or(c.Name, defaultName())
	c.LeaseTime = cmp.Or(c.LeaseTime, 30*time.Second)
	c.FairWait = cmp.Or(c.FairWait, 5*time.Minute)
	c.PollCap = cmp.Or(c.PollCap, 5*time.Second)
	c.CommandTimeout = cmp.Or(c.CommandTimeout, 3*time.Second)
	c.ReleaseTimeout = cmp.Or(c.ReleaseTimeout, 3*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.RenewInterval = cmp.Or(c.RenewInterval, c.LeaseTime/3)
	c.RestartDelay = cmp.Or(c.RestartDelay, c.LeaseTime)
	leastLease, leastDelay := minLease, c.LeaseTime // a hold could outlive a shorter delay
	if c.Protect {
		leastLease = minProtected
	}
	if c.RestartDelay < 0 {
		leastDelay = c.RestartDelay
	}
	for _, setting := range []struct {
		field          string
		d, least, most time.Duration
	}{
		{"LeaseTime", c.LeaseTime, leastLease, longest},
		{"RenewInterval", c.RenewInterval, minRenewInterval, c.LeaseTime / 2},
		{"MaxHold", cmp.Or(c.MaxHold, minLease), minLease, longest},
		{"FairWait", c.FairWait, minFairWait, longest},
		{"PollCap", c.PollCap, minPollCap, longest},
		{"RestartDelay", c.RestartDelay, leastDelay, longest},
		{"ConnectTimeout", max(c.ConnectTimeout, 0), 0, longest},
		{"CommandTimeout", c.CommandTimeout, time.Millisecond, longest},
		{"ReleaseTimeout", c.ReleaseTimeout, time.Millisecond, longest},
	} {
		if err := inRange(setting.field, setting.d, setting.least, setting.most); err != nil {
			return c, err
		}
	}
	if c.TokenKeep != 0 {
		if !c.TokenClock {
			return c, &ConfigError{Field: "TokenKeep", Reason: "it needs TokenClock: tokens that count would begin anew"}
		}
		if err := inRange("TokenKeep", c.TokenKeep, c.LeaseTime, longest); err != nil {
			return c, err
		}
	}
	_, peer := protocol.ParsePeer(c.OldestPeer)
	err := cmp.Or(
		c.checkBackoff(),
		wrong("Name", protocol.CheckClientName(c.Name)),
		wrong("Prefix", protocol.CheckPrefix(c.Prefix)),
		wrong("OldestPeer", peer),
		wrong("Observer", checkObserver(c.Observer)),
	)
	return c, err
}

// wrong is a ConfigError if there is an error.
func wrong(field string, err error) error {
	if err == nil {
		return nil
	}
	return &ConfigError{Field: field, Reason: err.Error()}
}

// checkBackoff is for waits without messages. A watchdog needs a subscription.
func (c *Config) checkBackoff() error {
	switch {
	case c.Backoff == Backoff{}:
		return nil
	case c.Protect:
		return &ConfigError{Field: "Backoff", Reason: "it cannot be combined with Protect: a watchdog sees by a subscription that the process lives"}
	}
	return c.Backoff.check("Backoff")
}

// defaultName is the program, the host and the process.
func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	program := "unknown"
	if len(os.Args) > 0 {
		program = filepath.Base(os.Args[0])
	}
	return protocol.CleanClientName(fmt.Sprintf("%s@%s:%d", program, host, os.Getpid()))
}

// settings are those of the machinery behind a client of that ID. The configuration has its defaults.
func (c Config) settings(id string, d driver.Driver) lock.Settings {
	sharded, _ := d.(driver.Sharded)
	oldest, _ := protocol.ParsePeer(c.OldestPeer)
	s := lock.Settings{
		ID:             id,
		Name:           c.Name,
		Prefix:         c.Prefix,
		Driver:         d,
		Messages:       protocol.MessagesFor(oldest, sharded != nil && sharded.ShardMessages()),
		Lease:          c.LeaseTime,
		RenewInterval:  c.RenewInterval,
		MaxHold:        c.MaxHold,
		FairWait:       c.FairWait,
		PollCap:        c.PollCap,
		Backoff:        lock.Backoff(c.Backoff),
		CommandTimeout: c.CommandTimeout,
		ReleaseTimeout: c.ReleaseTimeout,
		TokenClock:     c.TokenClock,
		TokenKeep:      c.TokenKeep,
		Protect:        c.Protect,
		Logger:         c.Logger,
	}
	if c.Observer != nil {
		s.Observe = func(ctx context.Context, e lock.Event) { c.Observer.Observe(ctx, Event(e)) }
	}
	return s
}

// inRange refuses a setting or an option that is not between two values.
func inRange(field string, d, least, most time.Duration) error {
	if d < least || d > most {
		return &ConfigError{Field: field, Reason: fmt.Sprintf("%v is not between %v and %v", d, least, most)}
	}
	return nil
}
