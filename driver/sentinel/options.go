package sentinel

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver/rueidis"
)

// defaultCommandTimeout bounds a call where Options.Node does not say otherwise.
const defaultCommandTimeout = 3 * time.Second

// Options say who knows the primary, and how to talk to it.
type Options struct {
	// Sentinels are the host:port of some sentinels, best of all; they tell the others.
	Sentinels []string
	// Master is the name by which the sentinels know the primary.
	Master string
	// SentinelUsername and SentinelPassword log in at the sentinels; both empty means
	// without.
	SentinelUsername string
	SentinelPassword string
	// SentinelTLS, when set, encrypts the connections to the sentinels.
	SentinelTLS *tls.Config
	// Node says how to talk to the primary. Its Address, Resolve and Primary are set by
	// Open. Its Dial and AddressMap, if there are any, are for the sentinels as well.
	Node rueidis.Options
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	if len(o.Sentinels) == 0 {
		return o, errors.New("redis sentinel: no address of a sentinel")
	}
	if slices.Contains(o.Sentinels, "") {
		return o, errors.New("redis sentinel: an address of a sentinel is empty")
	}
	if o.Master == "" {
		return o, errors.New("redis sentinel: no name of a master")
	}
	if o.Node.CommandTimeout == 0 {
		o.Node.CommandTimeout = defaultCommandTimeout
	}
	return o, nil
}

// String names the primary in errors.
func (o Options) String() string {
	return o.Master + " (sentinels " + strings.Join(o.Sentinels, ",") + ")"
}

// sentinel are the options of a connection to a sentinel.
func (o Options) sentinel(address string) rueidis.Options {
	return rueidis.Options{
		Address:        address,
		Username:       o.SentinelUsername,
		Password:       o.SentinelPassword,
		TLS:            o.SentinelTLS,
		CommandTimeout: o.Node.CommandTimeout,
		Dial:           o.Node.Dial,
		AddressMap:     o.Node.AddressMap,
		Unbuffered:     o.Node.Unbuffered,
	}
}

// patience is how long sentinels may take to answer. It leaves time to connect, or to ask
// others, within the command timeout.
func (o Options) patience() time.Duration { return o.Node.CommandTimeout / 3 }
