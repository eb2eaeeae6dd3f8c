package redlatch

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// Open connects to a server and returns a client that owns the connection:
//
//	redis://[[user]:password@]host[:port][/database]   one server
//	rediss://…                                         the same, encrypted (Config.TLS)
//	memory://                                          a private one in this process
//	memory://name                                      one in this process, shared by name
//
// It blocks until the server has answered, bounded by ctx and by
// Config.CommandTimeout. The error is a *ConfigError for a URL or a setting that
// cannot work, and otherwise the network's or the server's, with the address and
// never with the password. After an error nothing is left behind.
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
	c, err := New(d, cfg)
	if err != nil {
		d.Close()
		return nil, err
	}
	c.owned = true
	c.server = target.identity()
	return c, nil
}

// target is where a URL points.
type target struct {
	scheme             string
	address            string // host:port, or the name of a memory server
	username, password string
	database           int
}

// String is the target without its secrets.
func (t target) String() string {
	if t.database != 0 {
		return fmt.Sprintf("%s://%s/%d", t.scheme, t.address, t.database)
	}
	return t.scheme + "://" + t.address
}

// identity is what tells servers apart: the same for everybody who gives the same URL. A
// memory server without a name is nobody else's.
func (t target) identity() string {
	if t.scheme == "memory" && t.address == "" {
		return ""
	}
	return t.String()
}

func (t target) connect(ctx context.Context, cfg Config) (driver.Driver, error) {
	if t.scheme == "memory" {
		return memory.Open(ctx, t.address, memory.WithCommandTimeout(cfg.CommandTimeout))
	}
	return rueidis.Open(ctx, rueidis.Options{
		Address:        t.address,
		TLS:            t.tls(cfg),
		Username:       t.username,
		Password:       t.password,
		DB:             t.database,
		CommandTimeout: cfg.CommandTimeout,
	})
}

// tls is how to encrypt the connection, nil if it is not to be.
func (t target) tls(cfg Config) *tls.Config {
	switch {
	case t.scheme != "rediss":
		return nil
	case cfg.TLS == nil:
		return &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return cfg.TLS.Clone()
}

// parseURL reads a URL. Its errors never show the URL whole: it may hold a password.
func parseURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil {
		var parse *url.Error
		if errors.As(err, &parse) {
			err = parse.Err
		}
		return target{}, badURL("%v", err)
	}
	t := target{scheme: u.Scheme, address: u.Host}
	switch {
	case u.Scheme == "":
		return t, badURL("it has no scheme; redis://host:port is the usual form")
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "memory":
		return t, badURL("the scheme %q is none of redis, rediss, memory", u.Scheme)
	case u.Opaque != "":
		return t, badURL("%s: is not followed by //", u.Scheme)
	case u.RawQuery != "" || u.Fragment != "":
		return t, badURL("nothing is known that could follow %q", t)
	}
	if u.Scheme == "memory" {
		if strings.Trim(u.Path, "/") != "" || u.User != nil {
			return t, badURL("memory:// is followed by a name or nothing, not by a user or a path")
		}
		return t, nil
	}
	return t.server(u)
}

// server reads the parts of a URL of a real server.
func (t target) server(u *url.URL) (target, error) {
	host, port := u.Hostname(), u.Port()
	if host == "" {
		return t, badURL("it names no host")
	}
	if port == "" {
		port = "6379"
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return t, badURL("the port %q is not between 1 and 65535", port)
	}
	t.address = net.JoinHostPort(host, port)
	if u.User != nil {
		t.username = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		n, err := strconv.Atoi(path)
		if err != nil || n < 0 {
			return t, badURL("the database %q is not a number", path)
		}
		t.database = n
	}
	return t, nil
}

func badURL(format string, args ...any) error {
	return &ConfigError{Field: "url", Reason: fmt.Sprintf(format, args...)}
}
