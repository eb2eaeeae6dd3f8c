package redlatch

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
)

// Open connects to a server, or several, and returns a client that owns the connection:
//
//	redis://[[user]:password@]host[:port][/database]   one server
//	redis+sentinel://[[user]:password@]host[:port][,host[:port]…]/master[/database]
//	                                                   the primary that sentinels know by this name
//	redis+cluster://[[user]:password@]host[:port][,host[:port]…]
//	                                                   a cluster, of which these are some servers
//	rediss://…  rediss+sentinel://…  rediss+cluster://…
//	                                                   the same, encrypted (Config.TLS)
//	memory://                                          a private one in this process
//	memory://name                                      one in this process, shared by name
//
// The default ports are 6379, and 26379 for sentinels. In users and passwords, characters
// with a meaning in URLs are percent-encoded. Of a redis+sentinel URL, user and password
// are for the servers; ?sentinel_username=…&sentinel_password=… are for the sentinels,
// which do without by default. An encrypted one is so on every way, to sentinels as well.
//
// It blocks until the server has answered, bounded by ctx and by
// Config.CommandTimeout. The error is a *ConfigError for a URL or a setting that
// cannot work, and otherwise the network's or the server's, with the address and
// never with the password. It is ErrUnsupported for a server whose scripts are not atomic, as
// far as the server tells (docs/servers.md). After an error nothing is left behind.
func Open(ctx context.Context, url string, cfg Config) (*Client, error) {
	target, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d, err := target.connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("redlatch: open: %w", err)
	}
	if target.scheme != "memory" {
		err = refusal(ctx, d)
	}
	var c *Client
	if err == nil {
		c, err = New(d, cfg)
	}
	if err != nil {
		d.Close()
		return nil, fmt.Errorf("redlatch: open: %w", err)
	}
	c.owned = true
	c.server = target.identity()
	return c, nil
}

// identity is what tells servers apart: the same for everybody who gives the same URL. A
// memory server without a name is nobody else's.
func (t target) identity() string {
	if t.scheme == "memory" && t.name == "" {
		return ""
	}
	return t.String()
}

// connect makes the driver for a target.
func (t target) connect(ctx context.Context, cfg Config) (driver.Driver, error) {
	switch {
	case t.scheme == "memory":
		return memory.Open(ctx, t.name, memory.WithCommandTimeout(cfg.CommandTimeout))
	case strings.HasSuffix(t.scheme, "+sentinel"):
		return sentinel.Open(ctx, sentinel.Options{
			Sentinels:        t.addresses,
			Master:           t.name,
			SentinelUsername: t.sentinelUsername,
			SentinelPassword: t.sentinelPassword,
			SentinelTLS:      t.tls(cfg),
			Node:             t.server("", cfg),
		})
	case strings.HasSuffix(t.scheme, "+cluster"):
		return cluster.Open(ctx, cluster.Options{
			Addresses:      t.addresses,
			CommandTimeout: cfg.CommandTimeout,
			Connect: func(ctx context.Context, address string) (driver.Driver, error) {
				return rueidis.Open(ctx, t.server(address, cfg))
			},
		})
	}
	return rueidis.Open(ctx, t.server(t.addresses[0], cfg))
}

// server says how to talk to one of the target's servers.
func (t target) server(address string, cfg Config) rueidis.Options {
	return rueidis.Options{
		Address:        address,
		TLS:            t.tls(cfg),
		Username:       t.username,
		Password:       t.password,
		DB:             t.database,
		CommandTimeout: cfg.CommandTimeout,
	}
}

// tls is how to encrypt the connections, nil if they are not to be.
func (t target) tls(cfg Config) *tls.Config {
	switch {
	case !schemes[t.scheme].encrypted:
		return nil
	case cfg.TLS == nil:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return cfg.TLS.Clone()
}
