package redlatch

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Config are the settings of a client. The zero value of each field is its
// documented default.
type Config struct {
	// LeaseTime is the time to live of a lock in Redis, and so the longest time
	// for which it stays locked after its holder died. Default: 30s, as Redisson's
	// lockWatchdogTimeout. At least 10 ms.
	LeaseTime time.Duration

	// RenewInterval is how often a hold without a fixed lease is renewed. Default: a
	// third of the lease. At most half of LeaseTime, so that one failed renewal can be
	// made good.
	RenewInterval time.Duration

	// FairWait is how long Java peers count a waiter for a fair lock as alive, after its
	// predecessor's time. Default: 5m, as Redisson's fairLockWaitTimeout. Set both to the
	// same value. At least 10 s.
	FairWait time.Duration

	// PollCap is the longest time between two requests of a waiter, with or without
	// messages. Default: 5s. At least 50 ms. The actual pause is up to a fifth shorter, at
	// random, so that processes do not ask all at once.
	PollCap time.Duration

	// OldestPeer is the oldest Redisson, such as "3.16.8", among the Java processes that
	// share the locks, or "none" if there is no Java. It decides how releases are announced,
	// never whether locks exclude. A waiter that misses a message asks after PollCap, or in
	// Java when the lease ends. By default every peer from 3.10.3 on is woken. In a Cluster
	// of Redis 7 that costs a second message; "3.22.0" and later, or "none", save it.
	OldestPeer string

	// RestartDelay is how long a Quorum ignores a restarted server, because it may have
	// forgotten who holds the lock. Default: LeaseTime. At least the longest lease of all
	// who use the quorum. A negative value says that the servers forget nothing, because each
	// write is on disk before it is answered (appendfsync always). They are then not asked.
	RestartDelay time.Duration

	// TokenClock makes fencing tokens follow the server's clock, in microseconds, where
	// their counter is behind it. They then keep growing after a failover that has lost
	// increments, if the servers' clocks agree to within the time of a failover. Default:
	// tokens count by one, like Redisson's. Java peers always count on from the last token.
	TokenClock bool

	// CommandTimeout bounds one operation on Redis, with its repetitions. Default: 3s. A
	// shorter outage is ridden out, a longer one is reported.
	CommandTimeout time.Duration

	// ReleaseTimeout bounds Unlock, which does not end with its context. Default: 3s. A
	// failover that takes longer leaves the lock behind until its lease ends.
	ReleaseTimeout time.Duration

	// Protect has the independent watchdog (redlatch watchdog) renew the holds while this
	// process is paused. When the process goes on, a hold whose deadline has passed is not
	// valid until Redis has confirmed it. That takes one round trip, CommandTimeout at most.
	// If Redis does not confirm it, the hold is lost, and only then its context ends.
	//
	// LeaseTime must be at least 1 s. Holds with a fixed lease are not protected. Without a
	// living watchdog no hold is, and Stats and the log say so.
	//
	// It costs one more connection and six small requests in each LeaseTime. Acquisitions and
	// releases take no further round trip. The first acquisition waits until a watchdog could
	// find the client, for CommandTimeout at most.
	Protect bool

	// TLS is the configuration for rediss://, rediss+sentinel:// and rediss+cluster:// URLs:
	// own authorities, a client certificate. It holds for all servers and sentinels. Default:
	// the system's authorities are trusted.
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

	// AddressMap translates the addresses that the URL, sentinels and servers of a Cluster
	// name, if they cannot be reached under these: behind NAT, or in containers. It gets
	// and returns host:port, must not block, and may be called by several goroutines. With
	// TLS, certificates are checked against its result.
	AddressMap func(address string) string

	// Logger is told of what no caller would see, such as a hold that was lost. Default:
	// slog.Default.
	Logger *slog.Logger

	// Observer is told of every event, for metrics and traces. Default: none.
	Observer Observer
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
		{"FairWait", c.FairWait, minFairWait, longest},
		{"PollCap", c.PollCap, minPollCap, longest},
		{"RestartDelay", c.RestartDelay, leastDelay, longest},
		{"CommandTimeout", c.CommandTimeout, time.Millisecond, longest},
		{"ReleaseTimeout", c.ReleaseTimeout, time.Millisecond, longest},
	} {
		if err := inRange(setting.field, setting.d, setting.least, setting.most); err != nil {
			return c, err
		}
	}
	if _, err := protocol.ParsePeer(c.OldestPeer); err != nil {
		return c, &ConfigError{Field: "OldestPeer", Reason: err.Error()}
	}
	return c, nil
}

// settings are those of the machinery behind a client. The configuration has its defaults.
func (c Config) settings(d driver.Driver) lock.Settings {
	sharded, _ := d.(driver.Sharded)
	oldest, _ := protocol.ParsePeer(c.OldestPeer)
	s := lock.Settings{
		Driver:         d,
		Messages:       protocol.MessagesFor(oldest, sharded != nil && sharded.ShardMessages()),
		Lease:          c.LeaseTime,
		RenewInterval:  c.RenewInterval,
		FairWait:       c.FairWait,
		PollCap:        c.PollCap,
		CommandTimeout: c.CommandTimeout,
		ReleaseTimeout: c.ReleaseTimeout,
		TokenClock:     c.TokenClock,
		Protect:        c.Protect,
		Logger:         c.Logger,
	}
	if c.Observer != nil {
		s.Observe = observe(c.Observer)
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
