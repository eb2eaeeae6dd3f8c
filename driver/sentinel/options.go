package sentinel

import (
	"crypto/tls"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// Options say who knows the primary, and how to connect to it.
type Options struct {
	// Sentinels are the host:port of some sentinels, best of all. They name the others.
	Sentinels []string
	// Master is the name by which the sentinels know the primary.
	Master string
	// SentinelUsername and SentinelPassword log in at the sentinels. Default: no login.
	SentinelUsername string
	SentinelPassword string
	// SentinelTLS, when set, encrypts the connections to the sentinels. Default:
	// unencrypted.
	SentinelTLS *tls.Config
	// Node says how to connect to the primary. Its Address is ignored. Its CommandTimeout,
	// Dial, AddressMap, ClientName and Unbuffered are for the sentinels as well.
	Node rueidis.Options
}

// complete fills in the defaults and refuses what cannot work.
func (o Options) complete() (Options, error) {
	switch {
	case len(o.Sentinels) == 0:
		return o, &driver.OptionError{Option: "Sentinels", Reason: "there is no address"}
	case slices.Contains(o.Sentinels, ""):
		return o, &driver.OptionError{Option: "Sentinels", Reason: "an address is empty"}
	case o.Master == "":
		return o, &driver.OptionError{Option: "Master", Reason: "it is empty"}
	}
	o.Node.Address = o.Master + " (sentinels " + strings.Join(o.Sentinels, ",") + ")" // in errors
	var err error
	o.Node.CommandTimeout, err = call.Timeout(o.Node.CommandTimeout)
	return o, err
}

// sentinel are the options of a connection to a sentinel.
func (o Options) sentinel(address string) single.Options {
	return single.Options{
		Address:        address,
		Username:       o.SentinelUsername,
		Password:       o.SentinelPassword,
		TLS:            o.SentinelTLS,
		CommandTimeout: o.Node.CommandTimeout,
		Dial:           o.Node.Dial,
		AddressMap:     o.Node.AddressMap,
		ClientName:     o.Node.ClientName,
		Unbuffered:     o.Node.Unbuffered,
	}
}

// answerWithin is how long sentinels may take to answer. It leaves time to connect, or to ask
// others, within the command timeout.
func (o Options) answerWithin() time.Duration { return o.Node.CommandTimeout / 3 }
