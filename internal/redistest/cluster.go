package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
)

const (
	// nodeTimeout is how long a server may be silent before the others think it dead.
	nodeTimeout = time.Second
	// settleWithin bounds everything that the servers of a cluster have to agree upon.
	settleWithin = 40 * time.Second
)

// Cluster is a Redis Cluster of server processes on the loopback interface. It goes on
// serving the slots whose masters live, whatever happens to the others.
type Cluster struct {
	// Servers are all of them: first those that began as masters, then the replicas,
	// of which number i began with the master number i modulo their number.
	Servers []*Server
	masters int
}

// StartCluster runs a cluster until the end of the test, with so many masters, that
// divide the slots evenly, and so many replicas of each.
func StartCluster(t testing.TB, masters, replicas int) *Cluster {
	t.Helper()
	c, err := OpenCluster(masters, replicas)
	t.Cleanup(c.Close)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// OpenCluster is StartCluster until Close, for a program. Close it also after an error.
func OpenCluster(masters, replicas int) (*Cluster, error) {
	c := &Cluster{masters: masters}
	return c, c.start(masters * (1 + replicas))
}

// start runs the servers and makes a cluster of them.
func (c *Cluster) start(servers int) error {
	for range servers {
		s := &Server{args: memberArgs}
		if err := s.start(); err != nil {
			return err
		}
		c.Servers = append(c.Servers, s)
	}
	for _, step := range []func() error{c.introduce, c.assign, c.enslave} {
		if err := step(); err != nil {
			return err
		}
	}
	return await(settleWithin, c.Ready, "the cluster is ready")
}

// memberArgs are those of a server that is to be part of a cluster.
var memberArgs = []string{
	"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
	"--cluster-node-timeout", strconv.FormatInt(nodeTimeout.Milliseconds(), 10),
	"--cluster-require-full-coverage", "no",
	// A replica may take over however long ago it lost its master, and is in sync
	// without a delay that is meant for many replicas.
	"--cluster-replica-validity-factor", "0",
	"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0",
}

// introduce makes every server known to every other. A server forgets a handshake that takes longer than the node timeout,
// so whoever misses another one asks again.
func (c *Cluster) introduce() error {
	for i, s := range c.Servers {
		// Different from the start, or they would have to agree on it first.
		if err := s.order("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1)); err != nil {
			return err
		}
	}
	return await(settleWithin, func() bool {
		met := 0
		for _, s := range c.Servers {
			nodes, err := s.say("CLUSTER", "NODES")
			switch {
			case err != nil || strings.Contains(nodes, "handshake"):
			case strings.Count(nodes, "connected") == len(c.Servers):
				met++
			default:
				for _, other := range c.Servers {
					if other != s {
						_ = s.order("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port))
					}
				}
			}
		}
		return met == len(c.Servers)
	}, "every server knows every other")
}

// assign divides the slots among the masters.
func (c *Cluster) assign() error {
	for i, s := range c.Servers[:c.masters] {
		first, end := i*driver.Slots/c.masters, (i+1)*driver.Slots/c.masters
		err := s.order("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(first), strconv.Itoa(end-1))
		if err != nil {
			return err
		}
	}
	return nil
}

// enslave makes the rest of the servers replicas.
func (c *Cluster) enslave() error {
	for i, s := range c.Servers[c.masters:] {
		master, err := c.Servers[i%c.masters].say("CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if err := s.order("CLUSTER", "REPLICATE", master); err != nil {
			return err
		}
	}
	return nil
}

// Ready says whether all servers think that the cluster works, know about each other's
// parts, and every replica is in sync.
func (c *Cluster) Ready() bool {
	for _, s := range c.Servers {
		info, err := s.say("CLUSTER", "INFO")
		if err != nil || !strings.Contains(info, "cluster_state:ok") ||
			!strings.Contains(info, fmt.Sprintf("cluster_slots_ok:%d", driver.Slots)) {
			return false
		}
		nodes, err := s.say("CLUSTER", "NODES")
		if err != nil || strings.Count(nodes, "slave ") != len(c.Servers)-c.masters || strings.Contains(nodes, "fail") {
			return false
		}
		role, err := s.say("INFO", "replication")
		if err != nil || strings.Contains(role, "role:slave") && !strings.Contains(role, "master_link_status:up") {
			return false
		}
	}
	return true
}

// AwaitReady waits until the cluster is whole again, after a failover for example.
func (c *Cluster) AwaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, settleWithin, c.Ready, "the cluster is whole")
}

// Addrs are the host:port of the servers.
func (c *Cluster) Addrs() []string { return addresses(c.Servers) }

func addresses(servers []*Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.Addr())
	}
	return all
}

// Close ends the servers, side by side.
func (c *Cluster) Close() {
	var ends sync.WaitGroup
	for _, s := range c.Servers {
		ends.Go(s.Close)
	}
	ends.Wait()
}

// say sends a command whose reply is a text.
func (s *Server) say(words ...string) (string, error) {
	reply, err := roundTrip(s.Addr(), words...)
	if err != nil {
		return "", err
	}
	text, ok := reply.(string)
	if !ok {
		return "", fmt.Errorf("%s: %v", strings.Join(words, " "), reply)
	}
	return text, nil
}

// must is order in a test. It ends the test if the command fails.
func (s *Server) must(t testing.TB, words ...string) {
	t.Helper()
	if err := s.order(words...); err != nil {
		t.Fatal(err)
	}
}

// order sends a command that has to be obeyed.
func (s *Server) order(words ...string) error {
	text, err := s.say(words...)
	if err == nil && text != "OK" {
		err = fmt.Errorf("%s: %s", strings.Join(words, " "), text)
	}
	return err
}
