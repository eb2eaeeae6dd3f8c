package goredis_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/redistest"
)

// optionRow is a line of the table in docs/go-redis.md: a client whose options matter.
type optionRow struct {
	name    string
	client  func(*sky) redis.UniversalClient
	server  *redistest.Server           // nil: one of its own
	during  func(redis.UniversalClient) // done when the weather begins
	without string                      // the weather that there is none of
	ruined  bool                        // the client is of no use afterwards
}

// outcome is what the table says.
func (o optionRow) outcome(w weather) string {
	switch {
	case w.name == o.without:
		return "–"
	case o.ruined:
		return "until then"
	}
	return "yes"
}

// sky is where the clients of the row find their server.
func (o optionRow) sky(t *testing.T) *sky {
	s := &sky{server: o.server}
	if s.server == nil {
		s.server = redistest.Start(t)
	}
	s.proxy = redistest.NewProxy(t, s.server.Addr())
	return s
}

// with makes clients of one server, with the options that set makes.
func with(set func(*sky, *redis.Options)) func(*sky) redis.UniversalClient {
	return func(s *sky) redis.UniversalClient {
		o := &redis.Options{Addr: s.proxy.Addr(), MaxRetries: 1}
		set(s, o)
		return redis.NewClient(o)
	}
}

// hookedClient makes clients with a hook that misbehaves while the weather is foul.
func hookedClient(misbehave func(*sky, func() error) error) func(*sky) redis.UniversalClient {
	return func(s *sky) redis.UniversalClient {
		c := redis.NewClient(&redis.Options{Addr: s.proxy.Addr()})
		c.AddHook(hook(func(_ context.Context, _ []redis.Cmder, next func() error) error {
			if !s.lasts() {
				return next()
			}
			return misbehave(s, next)
		}))
		return c
	}
}

func optionRows(t *testing.T) []optionRow {
	const short = 50 * time.Millisecond
	rows := []optionRow{
		{name: "the defaults", client: with(func(*sky, *redis.Options) {})},
		{name: "`PoolSize: 1`", client: with(func(_ *sky, o *redis.Options) { o.PoolSize = 1 })},
		{name: "`MinIdleConns: 4`", client: with(func(_ *sky, o *redis.Options) { o.MinIdleConns = 4 })},
		{name: "`MaxRetries: 10`", client: with(func(_ *sky, o *redis.Options) { o.MaxRetries, o.MaxRetryBackoff = 10, time.Millisecond })},
		{name: "`ReadTimeout: 50ms`", client: with(func(_ *sky, o *redis.Options) { o.ReadTimeout = short })},
		{name: "`ReadTimeout: -1`", client: with(func(_ *sky, o *redis.Options) { o.ReadTimeout = -1 })},
		{name: "`WriteTimeout: 50ms`", client: with(func(_ *sky, o *redis.Options) { o.WriteTimeout = short })},
		{name: "`DialTimeout: 50ms`", client: with(func(_ *sky, o *redis.Options) { o.DialTimeout = short })},
		{name: "`ContextTimeoutEnabled`", client: with(func(_ *sky, o *redis.Options) { o.ContextTimeoutEnabled = true })},
		{name: "`PoolFIFO`", client: with(func(_ *sky, o *redis.Options) { o.PoolFIFO = true })},
		{name: "`ConnMaxLifetime: 50ms`", client: with(func(_ *sky, o *redis.Options) { o.ConnMaxLifetime = short })},
		{name: "`ConnMaxIdleTime: 50ms`", client: with(func(_ *sky, o *redis.Options) { o.ConnMaxIdleTime = short })},
		{name: "`Protocol: 2`", client: with(func(_ *sky, o *redis.Options) { o.Protocol = 2 })},
		{name: "a `Dialer` that hangs", client: with(func(s *sky, o *redis.Options) {
			o.Dialer = func(_ context.Context, network, address string) (net.Conn, error) {
				s.hang()
				return net.Dial(network, address)
			}
		})},
		{name: "a `CredentialsProvider` that hangs", client: with(func(s *sky, o *redis.Options) {
			o.CredentialsProvider = func() (string, string) { s.hang(); return "", "" }
		})},
		{name: "a hook that takes 300 ms", client: hookedClient(func(_ *sky, next func() error) error {
			<-time.After(300 * time.Millisecond)
			return next()
		})},
		{name: "a hook that hangs", client: hookedClient(func(s *sky, next func() error) error { s.hang(); return next() })},
		{name: "a hook that fails", client: hookedClient(func(*sky, func() error) error { return errBreaker })},
		{name: "a hook that panics at a dial", ruined: true, client: func(s *sky) redis.UniversalClient {
			c := redis.NewClient(&redis.Options{Addr: s.proxy.Addr()})
			c.AddHook(dialPanics{hook(func(_ context.Context, _ []redis.Cmder, next func() error) error { return next() }), s})
			return c
		}},
		{name: "a hook that panics", client: hookedClient(func(*sky, func() error) error { panic("hook") })},
		{name: "the application closes its client", client: with(func(*sky, *redis.Options) {}),
			during: func(c redis.UniversalClient) { _ = c.Close() }},
	}
	return append(rows, ownRows(t)...)
}

// dialPanics is a hook that panics when a connection is made.
type dialPanics struct {
	hook
	sky *sky
}

func (h dialPanics) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if h.sky.lasts() {
			panic("hook")
		}
		return next(ctx, network, address)
	}
}

// ownRows are those that need more than a server.
func ownRows(t *testing.T) []optionRow {
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	encrypted := redistest.Start(t)
	front := redistest.NewTLSFront(t, encrypted.Addr(), certified.TLS.Certificates[0])
	watched, watcher, cluster := redistest.Start(t), redistest.StartSentinel(t), redistest.StartCluster(t, 1, 0)
	watcher.Watch(t, "locks", watched.Addr(), 1)
	byProxy := func(s *sky) func(context.Context, string, string) (net.Conn, error) {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			if address == s.server.Addr() {
				address = s.proxy.Addr()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
	}
	return []optionRow{
		{name: "`TLSConfig`", server: encrypted, client: with(func(_ *sky, o *redis.Options) {
			o.Addr, o.TLSConfig = front, &tls.Config{InsecureSkipVerify: true}
		})},
		{name: "`NewFailoverClient`", server: watched, client: func(s *sky) redis.UniversalClient {
			return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{watcher.Addr()}, Dialer: byProxy(s)})
		}},
		{name: "`NewClusterClient`", server: cluster.Servers[0], without: "demoted to replica", client: func(s *sky) redis.UniversalClient {
			return redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{s.server.Addr()}, Dialer: byProxy(s)})
		}},
	}
}
