package goredis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// Option is a setting of New.
type Option func(*options)

// WithCommandTimeout bounds every call, including its wait for a connection of the client's pool. It
// does not bound dedicated pipelines. A shorter timeout of the client ends a call earlier. Default: 3s.
func WithCommandTimeout(timeout time.Duration) Option {
	return func(o *options) { o.timeout = timeout }
}

// options are the settings of a driver.
type options struct {
	timeout time.Duration
}

// New makes a driver that sends its commands through an existing client: a *redis.Client, also one
// of redis.NewFailoverClient, or a *redis.ClusterClient. For a *redis.Client it connects later, when the
// driver is used, so the server need not be there yet. For a *redis.ClusterClient it is Open, for the
// command timeout at most.
//
// The error is a *driver.OptionError if the client, or an option, cannot work.
//
// Several drivers may use one client. Close of a driver does not close the client. A client that is
// closed ends its drivers: their calls fail, and their listeners end.
func New(client redis.UniversalClient, settings ...Option) (driver.Driver, error) {
	return open(context.Background(), client, settings)
}

// Open is New, and connects. It blocks until a server has answered, until ctx ends, or until the command
// timeout has passed. It refuses a client that leads to a replica. The error wraps a *driver.ServerError
// if a server refused, and otherwise the error of the network or of ctx. An Open that failed leaves
// nothing behind.
func Open(ctx context.Context, client redis.UniversalClient, settings ...Option) (driver.Driver, error) {
	d, err := open(ctx, client, settings)
	n, single := d.(*node)
	if err != nil || !single {
		return d, err
	}
	if _, _, err = n.connected(ctx); err == nil {
		return n, nil
	}
	n.Close()
	switch {
	case errors.Is(err, redis.ErrClosed):
		return nil, unfit("it is closed")
	case errors.Is(err, call.ErrReplica):
		return nil, unfit("it leads to a replica, which takes no locks")
	}
	return nil, fmt.Errorf("connect by the client of go-redis: %w", err)
}

// open makes a driver, unless the client or an option cannot work. It connects only a driver for a cluster.
func open(ctx context.Context, client redis.UniversalClient, settings []Option) (driver.Driver, error) {
	var o options
	for _, set := range settings {
		if set != nil {
			set(&o)
		}
	}
	var err error
	if o.timeout, err = call.Timeout(o.timeout); err == nil {
		err = check(client)
	}
	if err != nil {
		return nil, err
	}
	if c, ok := client.(*redis.ClusterClient); ok {
		return openCluster(ctx, c, o)
	}
	c := client.(*redis.Client)
	return newNode(c.Options().Addr, o, fixed{c}), nil
}

// answers says whether a call with this error has reached a server that can be used, or can be soon.
func answers(err error) bool {
	refused, ok := errors.AsType[*driver.ServerError](err)
	return err == nil || ok && !errors.Is(err, driver.ErrNotSent) && refused.Code() != "LOADING" && refused.Code() != "NOAUTH"
}

// check refuses clients that cannot keep the promises of a driver.
func check(client redis.UniversalClient) error {
	switch c := client.(type) {
	case nil:
		return unfit("it is nil")
	case *redis.Client:
		if c == nil {
			return unfit("it is nil")
		}
	case *redis.ClusterClient:
		return checkCluster(c)
	case *redis.Ring:
		return unfit("a Ring moves the keys of a server that is down to another one, so that a lock could have two holders; " +
			"use a *redis.Client, or a Quorum of several")
	default:
		if fmt.Sprintf("%T", client) == "*redis.AutoPipeliner" { // by name, for older releases have none
			return unfit("an AutoPipeliner sends commands again by itself; use the client that it was made of")
		}
		return unfit(fmt.Sprintf("it is a %T, and only *redis.Client and *redis.ClusterClient are known", client))
	}
	return nil
}

func checkCluster(c *redis.ClusterClient) error {
	switch {
	case c == nil:
		return unfit("it is nil")
	case c.Options().ClusterSlots != nil:
		return unfit("its ClusterSlots says where keys are, instead of the servers; " +
			"for servers behind Sentinel use redis.NewFailoverClient")
	case c.Options().ReadOnly: // also by RouteByLatency and RouteRandomly
		return unfit("ReadOnly, RouteByLatency or RouteRandomly is set: a server that has become a replica would answer " +
			"with old data instead of naming the new master; use a client of its own for locks")
	}
	return nil
}

// unfit refuses a client.
func unfit(reason string) error { return &driver.OptionError{Option: "client", Reason: reason} }
