package redlatch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
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
// with a meaning in URLs are percent-encoded. In a redis+sentinel URL, user and password
// are for the servers. ?sentinel_username=…&sentinel_password=… are for the sentinels.
// Default: none. With an encrypted URL every connection is encrypted, to sentinels as well.
//
// Config.Credentials and Config.AddressMap are for passwords that change and for servers
// behind NAT. The client opens one connection for commands, one for Pub/Sub while
// anyone waits, and up to 8 for commands that wait for replicas. In a Cluster it does so
// for each server that it uses. An idle connection costs one PING in each CommandTimeout.
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
	if err := target.suits(cfg); err != nil {
		return nil, err
	}
	d, err := target.connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("redlatch: open: %w", target.advised(err))
	}
	if target.scheme != "memory" {
		err = unfit(ctx, d)
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
	c.server, c.database = target.identity(), target.database
	return c, nil
}

// suits refuses settings that the target has no use for.
func (t target) suits(cfg Config) error {
	switch {
	case cfg.Credentials != nil && (t.username != "" || t.password != ""):
		return &ConfigError{Field: "Credentials", Reason: "the URL has a user or a password already"}
	case cfg.Credentials != nil && t.scheme == "memory":
		return &ConfigError{Field: "Credentials", Reason: "nobody logs in at a memory:// server"}
	case cfg.AddressMap != nil && t.scheme == "memory":
		return &ConfigError{Field: "AddressMap", Reason: "a memory:// server has no address"}
	}
	return nil
}

// advised adds what to do about a failure to connect.
func (t target) advised(err error) error {
	if errors.Is(err, rueidis.ErrHungUp) && !schemes[t.scheme].encrypted {
		return fmt.Errorf("%w; if its port is for TLS, the URL begins with %s://", err, strings.Replace(t.scheme, "redis", "rediss", 1))
	}
	if errors.Is(err, rueidis.ErrNoTLS) {
		return fmt.Errorf("%w; if its port is a plain one, the URL begins with %s://", err, strings.Replace(t.scheme, "rediss", "redis", 1))
	}
	return err
}

// explain says why a server that is used by itself refuses what a Cluster refuses.
func explain(refused *driver.ServerError) error {
	switch refused.Code() {
	case "MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN":
		return fmt.Errorf("%w (the server belongs to a Cluster, which is opened by redis+cluster://)", refused)
	}
	return refused
}

// identity is what tells servers apart: host and port, whatever the scheme, the user and the
// database, and for several of them whatever their order. A memory server without a name is
// nobody else's.
func (t target) identity() string {
	switch {
	case t.scheme == "memory" && t.name == "":
		return ""
	case t.scheme == "memory":
		return t.String()
	}
	addresses := strings.Split(strings.ToLower(strings.Join(t.addresses, ",")), ",")
	slices.Sort(addresses)
	text := strings.Join(slices.Compact(addresses), ",")
	if t.name != "" {
		text += "/" + t.name
	}
	return text
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
	options := t.server(t.addresses[0], cfg)
	options.Explain = explain
	return rueidis.Open(ctx, options)
}

// server says how to talk to one of the target's servers.
func (t target) server(address string, cfg Config) rueidis.Options {
	return rueidis.Options{
		Address:        address,
		TLS:            t.tls(cfg),
		Username:       t.username,
		Password:       t.password,
		Credentials:    cfg.Credentials,
		AddressMap:     cfg.AddressMap,
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
