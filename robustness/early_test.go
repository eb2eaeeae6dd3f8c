package robustness

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
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

	mu      sync.Mutex
	address string     // of the primary
	conns   []net.Conn // to it
}

// promotedTooEarly: the way to the replica is cut, the primary goes on granting for a
// while, and then all clients are led to the replica, which knows nothing of that.
func promotedTooEarly(d *drill) {
	servers := redistest.StartReplicas(d, 1)
	p := &pair{drill: d, primary: servers.Primary, replica: servers.Replicas[0]}
	p.address = p.primary.Server.Addr()
	d.begin(levels(1), d.names(), p.join)
	d.rounds(p.round, d.overlapped)
	d.end()
	d.mustOverlap()
}

func (p *pair) join(cfg redlatch.Config) client {
	return p.on(cfg, func() (driver.Driver, error) {
		return rueidis.Open(p.Context(), rueidis.Options{Address: "the pair", CommandTimeout: cfg.CommandTimeout, Dial: p.dial})
	})
}

// dial connects to whichever server is the primary.
func (p *pair) dial(ctx context.Context, _ string) (net.Conn, error) {
	p.mu.Lock()
	address := p.address
	p.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if address != p.address {
		conn.Close()
		return nil, errMoved
	}
	p.conns = append(p.conns, conn)
	return conn, nil
}

// lead leads all clients to the present primary.
func (p *pair) lead() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.address = p.primary.Server.Addr()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.conns = nil
}

func (p *pair) round() {
	p.primary.Front.Blackhole(true)
	p.pause(lease/2, 3*lease/2)
	p.replica.CLI(p, "REPLICAOF", "NO", "ONE")
	p.primary, p.replica = p.replica, p.primary
	p.lead()
	p.pause(500*time.Millisecond, 1500*time.Millisecond)
	p.replica.Front.Blackhole(false)
	follow(p.drill, p.replica, p.primary)
	p.pause(lease/2, lease)
}

var errMoved = errors.New("the replica has been promoted")

// follow makes a server a replica, and waits until it is in sync. On a busy machine sentinels may have it follow
// another primary meanwhile, and they hang up on its clients.
func follow(d *drill, replica, primary *redistest.Member) {
	d.Helper()
	host, port, _ := net.SplitHostPort(primary.Addr())
	redistest.Eventually(d, 90*time.Second, func() bool {
		reply, _ := replica.Try("INFO", "replication")
		info, _ := reply.(string)
		if strings.Contains(info, "role:master") {
			_, _ = replica.Try("REPLICAOF", host, port)
		}
		return strings.Contains(info, "role:slave") && strings.Contains(info, "master_link_status:up")
	}, "the former primary follows another one")
}
