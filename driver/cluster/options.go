package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// Options say where the cluster is and how to connect to one of its servers.
type Options struct {
	// Addresses are the host:port of some servers of the cluster. One that answers is
	// enough: it names the others.
	Addresses []string
	// Connect makes a driver for the server at address. It blocks until that can be
	// used, or ctx has ended. If it takes longer, nobody waits, and its driver is closed. The listeners of the driver should be
	// driver.ShardListeners: others receive only what is published by PUBLISH.
	Connect func(ctx context.Context, address string) (driver.Driver, error)
	// CommandTimeout bounds every call, including its redirections. It does not bound
	// dedicated pipelines. It should not be less than that of the drivers that Connect
	// makes. Default: 3s.
	CommandTimeout time.Duration

	aside call.Aside // runs Connect
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	switch {
	case len(o.Addresses) == 0:
		return o, &driver.OptionError{Option: "Addresses", Reason: "there is none"}
	case slices.Contains(o.Addresses, ""):
		return o, &driver.OptionError{Option: "Addresses", Reason: "an address is empty"}
	case o.Connect == nil:
		return o, &driver.OptionError{Option: "Connect", Reason: "it is nil"}
	}
	o.aside = call.NewAside()
	var err error
	o.CommandTimeout, err = call.Timeout(o.CommandTimeout)
	return o, err
}
