package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// defaultCommandTimeout bounds a call where Options do not say otherwise.
const defaultCommandTimeout = 3 * time.Second

// Options say where the cluster is and how to talk to one of its servers.
type Options struct {
	// Addresses are the host:port of some servers of the cluster. One that answers is
	// enough; it tells the others.
	Addresses []string
	// Connect makes a driver for the server at address. It blocks until that can be
	// used, or ctx has ended. The listeners of the driver should be
	// driver.ShardListeners: others hear what is published by PUBLISH alone.
	Connect func(ctx context.Context, address string) (driver.Driver, error)
	// CommandTimeout bounds every call, redirections included, where its context does
	// not end it sooner. It should not be less than that of the drivers that Connect
	// makes. Zero means 3 s.
	CommandTimeout time.Duration
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	switch {
	case len(o.Addresses) == 0:
		return o, errors.New("redis cluster: no address")
	case o.Connect == nil:
		return o, errors.New("redis cluster: nothing to connect with")
	case o.CommandTimeout < 0:
		return o, fmt.Errorf("redis cluster: command timeout %v is negative", o.CommandTimeout)
	case o.CommandTimeout == 0:
		o.CommandTimeout = defaultCommandTimeout
	}
	return o, nil
}
