package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// Which server it is, and what its scripts are worth.

// product is the name and the version of a server.
func (p *server) product() (name, version string) {
	for _, one := range []struct{ field, name string }{
		{"garnet_version", "Garnet"}, {"dragonfly_version", "Dragonfly"}, {"kvrocks_version", "Kvrocks"}, {"valkey_version", "Valkey"},
	} {
		if v := p.info[one.field]; v != "" {
			return one.name, strings.TrimPrefix(v, "df-v")
		}
	}
	if strings.Contains(p.info["executable"], "keydb") || p.info["mvcc_depth"] != "" {
		return "KeyDB", p.info["redis_version"]
	}
	return "Redis", p.info["redis_version"]
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	words := strings.SplitN(version, ".", 3)
	first, _ := strconv.Atoi(words[0])
	second := 0
	if len(words) > 1 {
		second, _ = strconv.Atoi(words[1])
	}
	return first > major || first == major && second >= minor
}

func version(p *server, _ Config) []Check {
	c := Check{Code: "version", Why: "the scripts of the locks need the commands of Redis 6.2, and were tested with Redis 7 and Valkey 8.1"}
	name, version := p.product()
	seen := strings.TrimSpace(name + " " + version)
	switch {
	case version == "":
		return c.unknown("its version", "Redis 7.0, Valkey 8.1, or later")
	case name == "Redis" && !atLeast(version, 6, 2):
		c.Mend = "upgrade it to Redis 7.0 or later: fair locks and read-write locks fail"
		return c.found(Danger, seen)
	case name == "Redis" && !atLeast(version, 7, 0):
		c.Mend = "upgrade it to Redis 7.0 or later: some tests fail on 6.2"
		return c.found(Warning, seen)
	case name == "Redis" || name == "Valkey" && atLeast(version, 7, 2):
		return c.fine(seen)
	}
	c.Mend = "read what docs/servers.md says of it, and try your locks"
	return c.found(Note, seen)
}

// scripts says whether scripts are atomic, and what that costs.
func scripts(p *server, _ Config) []Check {
	name, _ := p.product()
	c := Check{Code: "atomic-scripts", Why: "two clients get one lock if the script that grants it is not atomic"}
	switch name {
	case "Garnet":
		return []Check{garnet()}
	case "Dragonfly":
		c.Mend = "use no RWMutex there if it is too slow"
		return c.found(Note, "scripts of the read-write lock use undeclared keys, and run alone on the whole server")
	}
	return c.fine("scripts are atomic in " + name)
}

func garnet() Check {
	return Check{
		Code: "atomic-scripts", Severity: Danger, Seen: "it is a Garnet, whose scripts are not atomic by default",
		Why:  "two clients get one lock if the script that grants it is not atomic",
		Mend: "use Redis or Valkey; or set LuaTransactionMode and connect by New with a driver of your own",
	}
}

func cluster(p *server, _ Config) []Check {
	if p.info["cluster_enabled"] != "1" {
		return nil
	}
	return slices.Concat(slots(p), coverage(p), clusterReplicas(p))
}

func slots(p *server) []Check {
	c := Check{Code: "cluster-slots", Why: "locks in slots that no server has cannot be taken or released"}
	switch assigned, ok := number(p.cluster, "cluster_slots_assigned"), number(p.cluster, "cluster_slots_ok"); {
	case assigned < 0:
		return c.unknown("CLUSTER INFO", "")
	case assigned < driver.Slots || ok < driver.Slots || p.cluster["cluster_state"] != "ok":
		c.Mend = "redis-cli --cluster fix HOST:PORT"
		if ok < assigned {
			c.Mend = "start the masters that have failed; or CLUSTER FAILOVER TAKEOVER on a replica of each"
		}
		return c.found(Danger, fmt.Sprintf("its state is %s; %d of %d slots have a server, %d of them one that answers", p.cluster["cluster_state"], assigned, driver.Slots, ok))
	}
	return c.fine("each slot has a server that answers")
}

func coverage(p *server) []Check {
	c := Check{Code: "cluster-coverage", Why: "when one master is gone, all locks of the Cluster stop, also those on the other masters"}
	switch p.config["cluster-require-full-coverage"] {
	case "":
		return c.unknown("cluster-require-full-coverage", "")
	case "yes":
		c.Mend = "CONFIG SET cluster-require-full-coverage no on each server, if the other locks are to go on"
		return c.found(Note, "cluster-require-full-coverage is yes")
	}
	return c.fine("cluster-require-full-coverage is no")
}

// clusterReplicas looks for a replica of this server: in a line of CLUSTER NODES, the first word is a node's
// id, the third its flags, the fourth the id of its master.
func clusterReplicas(p *server) []Check {
	c := Check{Code: "cluster-replicas", Why: "when this master is gone, its locks are gone, and its slots have no server"}
	me, n := "", 0
	for line := range strings.Lines(p.nodes) {
		if words := strings.Fields(line); len(words) > 3 && strings.Contains(words[2], "myself") {
			me = words[0]
		}
	}
	for line := range strings.Lines(p.nodes) {
		if words := strings.Fields(line); len(words) > 3 && words[3] == me && !strings.Contains(words[2], "fail") {
			n++
		}
	}
	switch {
	case me == "":
		return c.unknown("CLUSTER NODES", "")
	case n == 0:
		c.Mend = "redis-cli --cluster add-node NEW:PORT HOST:PORT --cluster-slave"
		return c.found(Warning, "it has no replica that lives")
	}
	return c.fine(fmt.Sprintf("it has %d replicas", n))
}
