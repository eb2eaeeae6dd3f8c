package redlatch

import (
	"context"

	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/protocol"
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
//	unix://[[user]:password@]/path/to/redis.sock[?db=database]
//	                                                   one server, through its Unix socket
//	memory://                                          a private one in this process
//	memory://name                                      one in this process, shared by name
//
// memory:// needs import _ "github.com/redlatch/redlatch/driver/memory". A program without that
// import does not contain the embedded server.
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
// Open blocks until the server has answered. ctx bounds it, and so does Config.CommandTimeout, or
// Config.ConnectTimeout if that is longer. With a negative ConnectTimeout, Open also returns a
// client if no server answers.
//
// The error is a *ConfigError for a URL or a setting that cannot work. It is ErrUnsupported for a
// server known to run scripts that are not atomic (docs/servers.md). Any other error is that
// of the network or the server. It names the address and never the password. After an error
// nothing is left behind.
func Open(ctx context.Context, url string, cfg Config) (*Client, error) {
	target, err := connect.Parse(url)
	if err != nil {
		return nil, err
	}
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	id, log := lock.NewID(), cfg.Logger
	if cfg.ConnectTimeout > 0 {
		log = log.With("for", cfg.ConnectTimeout)
	}
	d, err := target.Await(ctx, connect.Settings{
		ClientName:     protocol.ConnectionName(id, cfg.Name),
		TLS:            cfg.TLS,
		Credentials:    cfg.Credentials,
		AddressMap:     cfg.AddressMap,
		CommandTimeout: cfg.CommandTimeout,
	}, cfg.ConnectTimeout, func(err error) {
		log.Warn("redlatch: open: the server cannot be reached yet; trying again", "error", err)
	})
	if err != nil {
		return nil, err
	}
	settings := cfg.settings(id, d)
	settings.CloseDriver = true
	return newClient(settings, target.Identity(), target.Database(), cfg.RestartDelay), nil
}
