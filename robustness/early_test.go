package robustness

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// pair is a primary and its replica, and a directory that says which is which.
type pair struct {
	*drill
	primary, replica *redistest.Member
	address          atomic.Value // of the primary
	drivers          []*rueidis.Driver
}

// promotedTooEarly: the way to the replica is cut, the primary goes on granting for a
// while, and then all clients are led to the replica, which knows nothing of that.
func promotedTooEarly(d *drill) {
	servers := redistest.StartReplicas(d, 1)
	p := &pair{drill: d, primary: servers.Primary, replica: servers.Replicas[0]}
	p.address.Store(p.primary.Server.Addr())
	d.begin(levels(1), d.names(), p.join)
	d.rounds(p.round, d.overlapped)
	d.end()
	d.mustOverlap()
}

func (p *pair) join(cfg redlatch.Config) client {
	return p.on(cfg, func() (driver.Driver, error) {
		connection, err := rueidis.Open(p.Context(), rueidis.Options{
			Address: "the pair", CommandTimeout: cfg.CommandTimeout,
			Resolve: func(context.Context) (string, error) { return p.address.Load().(string), nil },
		})
		if err != nil {
			return nil, err
		}
		p.drivers = append(p.drivers, connection)
		return connection, nil
	})
}

func (p *pair) round() {
	p.primary.Front.Blackhole(true)
	p.pause(lease/2, 3*lease/2)
	p.replica.CLI(p, "REPLICAOF", "NO", "ONE")
	p.primary, p.replica = p.replica, p.primary
	p.address.Store(p.primary.Server.Addr())
	for _, connection := range p.drivers {
		connection.Drop(errMoved{})
	}
	p.pause(500*time.Millisecond, 1500*time.Millisecond)
	p.replica.Front.Blackhole(false)
	follow(p.drill, p.replica, p.primary)
	p.pause(lease/2, lease)
}

type errMoved struct{}

func (errMoved) Error() string { return "the replica has been promoted" }

// follow makes a server a replica, and waits until it is in sync.
func follow(d *drill, replica, primary *redistest.Member) {
	d.Helper()
	host, port, _ := net.SplitHostPort(primary.Addr())
	replica.CLI(d, "REPLICAOF", host, port)
	redistest.Eventually(d, 30*time.Second, func() bool {
		info := replica.CLI(d, "INFO", "replication").(string)
		return strings.Contains(info, "master_port:"+port) && strings.Contains(info, "master_link_status:up")
	}, "the former primary follows the new one")
}
