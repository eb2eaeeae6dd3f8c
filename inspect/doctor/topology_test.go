package doctor_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/cluster"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/doctor"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestLongReplicas(t *testing.T) {
	t.Parallel()
	r := redistest.StartReplicas(t, 1)
	primary := r.Primary.Server.Addr()
	want(t, examine(t, doctor.Config{}, redistest.Shared(t).Addr()), "replicas", doctor.OK, "no replica")
	checks := examine(t, doctor.Config{}, primary)
	want(t, checks, "replicas", doctor.Warning, "WithReplicas")
	want(t, checks, "min-replicas", doctor.Warning, "CONFIG SET min-replicas-to-write 1")
	want(t, checks, "role", doctor.OK, "")
	r.Primary.CLI(t, "CONFIG", "SET", "min-replicas-to-write", "1")
	checks = examine(t, doctor.Config{Replicas: 1}, primary)
	want(t, checks, "replicas", doctor.OK, "")
	want(t, checks, "min-replicas", doctor.OK, "")
	want(t, examine(t, doctor.Config{Replicas: 2}, primary), "replicas", doctor.Warning, "waits for 2")
	want(t, examine(t, doctor.Config{}, r.Replicas[0].Server.Addr()), "role", doctor.Danger, "redis+sentinel")
	frozenReplica(t, r)
}

// frozenReplica is about a replica that is frozen. It lags first. Then the primary drops it. The
// primary tells when; what it told stands in the failure.
func frozenReplica(t *testing.T, r *redistest.Replicas) {
	t.Helper()
	primary := r.Primary.Server.Addr()
	told, lag := "", regexp.MustCompile(`state=online,offset=\d+,lag=(\d+)`)
	until := func(what string, reached func() bool) {
		t.Helper()
		defer func() { t.Logf("%s: the primary told\n%s", what, told) }()
		redistest.Eventually(t, time.Minute, func() bool {
			told = fmt.Sprint(r.Primary.CLI(t, "INFO", "replication"))
			return reached()
		}, what)
	}
	heard := func() (ago int) {
		if found := lag.FindStringSubmatch(told); found != nil {
			ago, _ = strconv.Atoi(found[1])
			return ago
		}
		return -1
	}
	until("the replica was heard of", func() bool { return heard() == 0 || heard() == 1 })
	want(t, examine(t, doctor.Config{}, primary), "replica-lag", doctor.OK, "")
	r.Replicas[0].Freeze()
	defer r.Replicas[0].Thaw()
	until("the replica lags", func() bool { return heard() >= 5 })
	want(t, examine(t, doctor.Config{}, primary), "replica-lag", doctor.Warning, "is online")
	r.Primary.CLI(t, "CONFIG", "SET", "repl-timeout", "1")
	until("the replica is dropped", func() bool { return strings.Contains(told, "connected_slaves:0") })
	want(t, examine(t, doctor.Config{}, primary), "replicas", doctor.Warning, "no replica any more")
}

func clusterTarget(t *testing.T, c *redistest.Cluster) doctor.Target {
	t.Helper()
	d := redistest.Must(cluster.Open(t.Context(), cluster.Options{
		Addresses: c.Addrs(),
		Connect: func(ctx context.Context, address string) (driver.Driver, error) {
			return rueidis.Open(ctx, rueidis.Options{Address: address})
		},
	}))
	t.Cleanup(d.Close)
	return doctor.Target{Name: "cluster", Driver: d}
}

func TestLongEachMasterOfAClusterIsExamined(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 3)
	target := clusterTarget(t, c)
	var checks []doctor.Check
	redistest.Eventually(t, 30*time.Second, func() bool {
		checks = doctor.Examine(t.Context(), doctor.Config{}, target)
		severity, _ := found(checks, "cluster-replicas")
		return severity == doctor.OK
	}, "each master has a replica")
	servers := make(map[string]bool)
	watchdogs := 0
	for _, one := range checks {
		servers[one.Server] = true
		if one.Code == "watchdogs" {
			watchdogs++
		}
	}
	if len(servers) != 4 || watchdogs != 1 { // the clocks are those of all
		t.Errorf("the servers are %v, and %d have watchdogs", servers, watchdogs)
	}
	want(t, checks, "cluster-slots", doctor.OK, "")
	want(t, checks, "server-clocks", doctor.OK, "3 servers")
	want(t, checks, "rights", doctor.OK, "")
	for setting, severity := range map[string]doctor.Severity{"yes": doctor.Note, "no": doctor.OK} {
		for _, s := range c.Servers {
			s.CLI(t, "CONFIG", "SET", "cluster-require-full-coverage", setting)
		}
		want(t, doctor.Examine(t.Context(), doctor.Config{}, target), "cluster-coverage", severity, "")
	}
	for _, s := range c.Servers {
		s.CLI(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	for _, s := range c.Servers {
		s.CLI(t, "CLUSTER", "DELSLOTS", "0")
	}
	redistest.Eventually(t, 30*time.Second, func() bool {
		severity, seen := found(doctor.Examine(t.Context(), doctor.Config{}, target), "cluster-slots")
		return severity == doctor.Danger && strings.Contains(seen, "16383 of 16384")
	}, "a slot has no server")
	want(t, doctor.Examine(t.Context(), doctor.Config{}, clusterTarget(t, redistest.SharedCluster(t))), "cluster-replicas", doctor.Warning, "add-node")
}

func TestSentinels(t *testing.T) {
	t.Parallel()
	s := redistest.StartSentinels(t)
	watched := func(addresses ...string) []doctor.Check {
		target := doctor.Target{Name: "x", Driver: connect(t, rueidis.Options{Address: s.Primary(t).Addr()}), Master: s.Name}
		for _, address := range addresses {
			d, err := rueidis.Open(t.Context(), rueidis.Options{Address: address, CommandTimeout: time.Second})
			one := doctor.Sentinel{Address: address, Err: err}
			if err == nil {
				defer d.Close()
				one.Driver = d
			}
			target.Sentinels = append(target.Sentinels, one)
		}
		return doctor.Examine(t.Context(), doctor.Config{LeaseTime: 10 * time.Second}, target)
	}
	set := func(words ...string) {
		for _, sentinel := range s.Sentinels {
			sentinel.CLI(t, append([]string{"SENTINEL", "SET", s.Name}, words...)...)
		}
	}
	set("down-after-milliseconds", "3000", "quorum", "2")
	checks := watched(s.Addrs()...)
	for _, code := range []string{"sentinels", "sentinel-down-after", "sentinel-replicas", "sentinel-primary"} {
		want(t, checks, code, doctor.OK, "")
	}
	set("down-after-milliseconds", "9000", "quorum", "1")
	checks = watched(s.Addrs()...)
	want(t, checks, "sentinels", doctor.Warning, "quorum 2")
	want(t, checks, "sentinel-down-after", doctor.Warning, "down-after-milliseconds "+strconv.Itoa(10000/6))
	set("quorum", "4")
	want(t, watched(s.Addrs()...), "sentinels", doctor.Warning, "never a failover")
	set("down-after-milliseconds", "100")
	want(t, watched(s.Addrs()...), "sentinel-down-after", doctor.Note, "")

	alone := redistest.StartSentinel(t)
	alone.Watch(t, s.Name, redistest.Shared(t).Addr(), 1)
	checks = watched(alone.Addr())
	want(t, checks, "sentinels", doctor.Warning, "1 sentinels")
	want(t, checks, "sentinel-replicas", doctor.Warning, "replicaof")
	want(t, watched(alone.Addr(), s.Sentinels[0].Addr()), "sentinel-primary", doctor.Danger, "different primaries")
	alone.Kill()
	want(t, watched(alone.Addr()), "sentinels", doctor.Warning, "does not answer")
}
