package connect

import (
	"context"
	"strings"
	"sync"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// Sentinel is a connection to one sentinel. Err is why there is none.
type Sentinel struct {
	Address string
	Driver  driver.Driver
	Err     error
}

// OpenSentinels connects to each sentinel of the target, side by side. It returns none for a target
// without sentinels, and the name by which they know the primary.
func (t Target) OpenSentinels(ctx context.Context, settings Settings) (all []Sentinel, master string) {
	if !strings.HasSuffix(t.scheme, "+sentinel") {
		return nil, ""
	}
	all = make([]Sentinel, len(t.addresses))
	var opening sync.WaitGroup
	for i, address := range t.addresses {
		opening.Go(func() {
			options := t.server(address, settings)
			options.Username, options.Password, options.DB = t.sentinelUsername, t.sentinelPassword, 0
			options.Credentials, options.Accept = nil, nil
			d, err := rueidis.Open(ctx, options)
			if all[i] = (Sentinel{Address: address, Err: err}); err == nil {
				all[i].Driver = d
			}
		})
	}
	opening.Wait()
	return all, t.name
}
