package connect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Settings are the options of a connection. Those that stand in the URL are set by Open: the
// address, user, password and database.
type Settings = rueidis.Options

// Open connects to the target. It returns a *lockerr.ConfigError for settings that the target
// cannot use, and lockerr.ErrUnsupported for a server that runs no scripts, or not atomically.
func (t Target) Open(ctx context.Context, settings Settings) (driver.Driver, error) {
	if err := t.check(settings); err != nil {
		return nil, err
	}
	d, err := t.connect(ctx, settings)
	if err == nil {
		err = lockerr.Missing("driver", d) // a user may have registered a scheme
	}
	if err != nil {
		return nil, fmt.Errorf("redlatch: open: %w", t.withAdvice(err))
	}
	return d, nil
}

// check refuses settings that the target cannot use.
func (t Target) check(settings Settings) error {
	switch {
	case settings.Credentials != nil && (t.username != "" || t.password != ""):
		return &lockerr.ConfigError{Field: "Credentials", Reason: "the URL has a user or a password already"}
	case settings.Credentials != nil && t.embedded():
		return &lockerr.ConfigError{Field: "Credentials", Reason: "nobody logs in at a " + t.scheme + ":// server"}
	case settings.TLS != nil && !remotes[t.scheme].encrypted:
		return &lockerr.ConfigError{Field: "TLS", Reason: "the URL begins with " + t.scheme + "://, which is not encrypted; use rediss://, rediss+sentinel:// or rediss+cluster://"}
	case settings.AddressMap != nil && t.embedded():
		return &lockerr.ConfigError{Field: "AddressMap", Reason: "a " + t.scheme + ":// server has no address"}
	case settings.AddressMap != nil && t.socket():
		return &lockerr.ConfigError{Field: "AddressMap", Reason: "a unix:// server has a path, not host and port"}
	case settings.Tolerate != nil && strings.HasSuffix(t.scheme, "+cluster"):
		return &lockerr.ConfigError{Field: "ConnectTimeout", Reason: "it is negative, but a client of a Cluster must ask which server has which lock before it can begin"}
	}
	return nil
}

// connect makes the driver of the target.
func (t Target) connect(ctx context.Context, settings Settings) (driver.Driver, error) {
	switch {
	case t.embedded():
		return driver.Registered(t.scheme)(ctx, t.name, settings.CommandTimeout)
	case strings.HasSuffix(t.scheme, "+sentinel"):
		return sentinel.Open(ctx, sentinel.Options{
			Sentinels:        t.addresses,
			Master:           t.name,
			SentinelUsername: t.sentinelUsername,
			SentinelPassword: t.sentinelPassword,
			SentinelTLS:      t.tls(settings),
			Node:             t.server("", settings),
		})
	case strings.HasSuffix(t.scheme, "+cluster"):
		return cluster.Open(ctx, cluster.Options{
			Addresses:      t.addresses,
			CommandTimeout: settings.CommandTimeout,
			Connect: func(ctx context.Context, address string) (driver.Driver, error) {
				return rueidis.Open(ctx, t.server(address, settings))
			},
		})
	}
	options := t.server(t.addresses[0], settings)
	options.Explain = explain
	if t.socket() {
		options.Dial = dialSocket
	}
	return rueidis.Open(ctx, options)
}

// server are the options of a connection to one server of the target.
func (t Target) server(address string, settings Settings) Settings {
	settings.Address, settings.DB = address, t.database
	settings.Username, settings.Password = t.username, t.password
	settings.TLS, settings.Accept = t.tls(settings), checkScripts
	return settings
}

// tls is the TLS configuration of the connections, nil if they are not encrypted.
func (t Target) tls(settings Settings) *tls.Config {
	switch {
	case !remotes[t.scheme].encrypted:
		return nil
	case settings.TLS == nil:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return settings.TLS.Clone()
}

// explain says why a single server refuses what only a Cluster refuses.
func explain(refused *driver.ServerError) error {
	switch refused.Code() {
	case "MOVED", "ASK", "CROSSSLOT", "CLUSTERDOWN":
		return fmt.Errorf("%w (the server belongs to a Cluster, which is opened by redis+cluster://)", refused)
	}
	return refused
}

// withAdvice adds to a failed connection which scheme would work, if that is known.
func (t Target) withAdvice(err error) error {
	if errors.Is(err, rueidis.ErrHungUp) && !remotes[t.scheme].encrypted && !t.socket() {
		return fmt.Errorf("%w; if its port is for TLS, the URL begins with %s://", err, strings.Replace(t.scheme, "redis", "rediss", 1))
	}
	if errors.Is(err, rueidis.ErrNoTLS) {
		return fmt.Errorf("%w; if its port is a plain one, the URL begins with %s://", err, strings.Replace(t.scheme, "rediss", "redis", 1))
	}
	return err
}
