package redistest

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// Member is a server among several. The others know it by the address of a proxy, and so
// does whoever asks for Addr, so that it can be cut off from all of them at once, or all
// be made slow. CLI goes to the server itself.
type Member struct {
	*Server
	Front *Proxy
}

// Addr is the host:port of the proxy.
func (m *Member) Addr() string { return m.Front.Addr() }

// URL is the redis:// URL of the proxy.
func (m *Member) URL() string { return m.Front.URL() }

// startMembers runs servers that do not know each other yet.
func startMembers(t testing.TB, n int, args ...string) []*Member {
	t.Helper()
	members := make([]*Member, n)
	for i := range members {
		// A replica is in sync without a delay that is meant for many replicas.
		s := Start(t, append([]string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}, args...)...)
		members[i] = &Member{Server: s, Front: NewProxy(t, s.Addr())}
		_, port, _ := net.SplitHostPort(members[i].Addr())
		members[i].settle(t, "replica-announce-ip", "127.0.0.1")
		members[i].settle(t, "replica-announce-port", port)
	}
	return members
}

// settle changes a setting for good: at once, and in the server's later lives.
func (s *Server) settle(t testing.TB, name, value string) {
	t.Helper()
	s.must(t, "CONFIG", "SET", name, value)
	s.args = append(s.args, "--"+name, value)
}

// Replicas is a primary with servers that copy it.
type Replicas struct {
	Primary  *Member
	Replicas []*Member
}

// StartReplicas runs a primary and n replicas until the end of the test, and returns when
// they are in sync. The arguments are appended to those of each server. A primary that is
// restarted is empty; a replica that is restarted copies it again.
func StartReplicas(t testing.TB, n int, args ...string) *Replicas {
	t.Helper()
	members := startMembers(t, 1+n, args...)
	r := &Replicas{Primary: members[0], Replicas: members[1:]}
	host, port, _ := net.SplitHostPort(r.Primary.Addr())
	for _, replica := range r.Replicas {
		replica.must(t, "REPLICAOF", host, port)
		replica.args = append(replica.args, "--replicaof", host, port)
	}
	r.AwaitSync(t)
	return r
}

// AwaitSync waits until all replicas are in sync with the primary.
func (r *Replicas) AwaitSync(t testing.TB) {
	t.Helper()
	Eventually(t, settleWithin, func() bool {
		for _, replica := range r.Replicas {
			info, err := replica.say("INFO", "replication")
			if err != nil || !strings.Contains(info, "master_link_status:up") {
				return false
			}
		}
		info, err := r.Primary.say("INFO", "replication")
		return err == nil && strings.Count(info, "state=online") == len(r.Replicas)
	}, fmt.Sprintf("%d replicas are in sync", len(r.Replicas)))
}
