package redistest

import (
	"net"
	"slices"
	"strconv"
	"testing"
	"time"
)

const (
	// downAfter is how long a server may be silent before a sentinel thinks it dead.
	downAfter = time.Second
	// failoverTimeout is, above all, half the pause after a failover that failed.
	failoverTimeout = 3 * time.Second
)

// Sentinels is a primary with two replicas, and three sentinels that watch over them. Any
// two of these replace a primary that is gone.
type Sentinels struct {
	Name      string    // by which the sentinels know the primary
	Members   []*Member // the first one was the primary at the start
	Sentinels []*Server
}

// StartSentinels runs them until the end of the test, and returns when all know each
// other. The arguments are appended to those of the primary and the replicas.
func StartSentinels(t testing.TB, args ...string) *Sentinels {
	t.Helper()
	r := StartReplicas(t, 2, args...)
	s := &Sentinels{Name: "locks", Members: append([]*Member{r.Primary}, r.Replicas...)}
	for range 3 {
		sentinel := StartSentinel(t)
		sentinel.Watch(t, s.Name, r.Primary.Addr(), 2)
		s.Sentinels = append(s.Sentinels, sentinel)
	}
	Eventually(t, settleWithin, s.acquainted, "the sentinels know each other and the replicas")
	return s
}

// StartSentinel runs a sentinel that watches nothing yet. Unlike a server it keeps what it
// knows when it is restarted.
func StartSentinel(t testing.TB, args ...string) *Server {
	t.Helper()
	return (&Server{sentinel: true, args: args}).begin(t)
}

// Watch has a sentinel watch over a primary, which it replaces when so many sentinels
// think it dead.
func (s *Server) Watch(t testing.TB, name, primary string, quorum int) {
	t.Helper()
	host, port, _ := net.SplitHostPort(primary)
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	s.must(t, "SENTINEL", "MONITOR", name, host, port, strconv.Itoa(quorum))
	s.must(t, "SENTINEL", "SET", name, "down-after-milliseconds", millis(downAfter), "failover-timeout", millis(failoverTimeout))
}

// acquainted says whether each sentinel knows everyone.
func (s *Sentinels) acquainted() bool {
	for _, sentinel := range s.Sentinels {
		about, err := roundTrip(sentinel.Addr(), "SENTINEL", "MASTER", s.Name)
		words, _ := about.([]any)
		if err != nil || property(words, "num-slaves") != strconv.Itoa(len(s.Members)-1) ||
			property(words, "num-other-sentinels") != strconv.Itoa(len(s.Sentinels)-1) {
			return false
		}
	}
	return true
}

// property is the word behind another one.
func property(words []any, name string) any {
	if at := slices.Index(words, any(name)); at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return nil
}

// Addrs are the host:port of the sentinels.
func (s *Sentinels) Addrs() []string { return addresses(s.Sentinels) }

// Primary waits until all sentinels that run name the same primary, which thinks so too.
func (s *Sentinels) Primary(t testing.TB) *Member {
	t.Helper()
	return s.AwaitFailover(t, nil)
}

// AwaitFailover waits until a primary has been replaced in the eyes of all sentinels that
// run, and returns the new one.
func (s *Sentinels) AwaitFailover(t testing.TB, old *Member) (primary *Member) {
	t.Helper()
	Eventually(t, settleWithin, func() bool {
		primary = s.agreed()
		if primary == nil || primary == old {
			return false
		}
		role, err := roundTrip(primary.Server.Addr(), "ROLE")
		words, _ := role.([]any)
		return err == nil && len(words) > 0 && words[0] == "master"
	}, "the sentinels have a primary")
	return primary
}

// Settle keeps the sentinels from replacing the primary that they have, however busy the machine is.
func (s *Sentinels) Settle(t testing.TB) *Sentinels {
	t.Helper()
	for _, sentinel := range s.Sentinels {
		sentinel.must(t, "SENTINEL", "SET", s.Name, "down-after-milliseconds", "600000")
	}
	return s
}

// agreed is the primary of all sentinels that run, nil if they disagree.
func (s *Sentinels) agreed() *Member {
	var primary *Member
	for _, sentinel := range s.Sentinels {
		if sentinel.process == nil || sentinel.frozen {
			continue
		}
		said, err := roundTrip(sentinel.Addr(), "SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name)
		words, _ := said.([]any)
		if err != nil || len(words) != 2 {
			return nil
		}
		at := slices.IndexFunc(s.Members, func(m *Member) bool {
			return m.Addr() == net.JoinHostPort(words[0].(string), words[1].(string))
		})
		if at < 0 || primary != nil && s.Members[at] != primary {
			return nil
		}
		primary = s.Members[at]
	}
	return primary
}
