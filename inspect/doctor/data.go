package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// What can lose a lock that is held: eviction, full memory, a restart, a failover.

func eviction(p *server, _ Config) []Check {
	c := Check{Code: "eviction", Why: "every lock has a TTL, so each policy but noeviction may evict it, and then it has two holders"}
	policy, limit := p.info["maxmemory_policy"], number(p.info, "maxmemory")
	evicted := ""
	if n := number(p.info, "evicted_keys"); n > 0 {
		evicted = fmt.Sprintf("; it has evicted %d keys since its start", n)
	}
	c.Mend = "CONFIG SET maxmemory-policy noeviction, and the same line in redis.conf"
	switch {
	case policy == "":
		return []Check{c.unknown("maxmemory-policy", "maxmemory-policy noeviction")}
	case policy != "noeviction" && limit > 0:
		c.Severity, c.Seen = Danger, fmt.Sprintf("maxmemory-policy is %s, maxmemory is %s%s", policy, bytes(limit), evicted)
	case policy != "noeviction":
		c.Severity, c.Seen = Note, fmt.Sprintf("maxmemory-policy is %s; nothing is evicted while maxmemory is 0", policy)
	default:
		return []Check{c.fine("maxmemory-policy is noeviction" + evicted)}
	}
	return []Check{c}
}

func memory(p *server, _ Config) []Check {
	c := Check{Code: "memory", Why: "a full server grants no lock; renewals and releases still work"}
	limit, used := number(p.info, "maxmemory"), number(p.info, "used_memory")
	switch {
	case limit < 0 || used < 0:
		return []Check{c.unknown("maxmemory and used_memory", "")}
	case limit > 0 && used >= limit/10*9:
		c.Severity, c.Seen = Warning, fmt.Sprintf("%s of %s are used", bytes(used), bytes(limit))
		c.Mend = fmt.Sprintf("CONFIG SET maxmemory %d, or remove data", 2*limit)
	case limit == 0:
		return []Check{c.fine("maxmemory is 0: no limit")}
	default:
		return []Check{c.fine(fmt.Sprintf("%s of %s are used", bytes(used), bytes(limit)))}
	}
	return []Check{c}
}

func persistence(p *server, _ Config) []Check {
	c := Check{Code: "persistence", Mend: "CONFIG SET appendonly yes, and appendonly yes in redis.conf"}
	c.Why = "a restart forgets the locks that are not on disk, and others take them while their holders work on"
	save, saveKnown := p.config["save"]
	aof, policy := p.info["aof_enabled"], p.config["appendfsync"]
	switch {
	case p.info["rdb_last_bgsave_status"] == "err" && p.config["stop-writes-on-bgsave-error"] == "yes" && save != "":
		c.Severity, c.Seen = Danger, "the last snapshot failed, and stop-writes-on-bgsave-error is yes: it refuses every lock"
		c.Mend = "look at the disk and at the log of the server; then BGSAVE"
	case aof == "1" && p.info["aof_last_write_status"] == "err":
		c.Severity, c.Seen = Danger, "the last write to the append-only file failed: it refuses every write (MISCONF) until one succeeds"
		c.Why = "no lock is granted, renewed or released meanwhile, so the leases of all locks run out"
		c.Mend = "look at the disk and at the log of the server, and make room; the server then goes on by itself"
	case aof == "":
		return []Check{c.unknown("appendonly, appendfsync and save", "appendonly yes, appendfsync everysec")}
	case aof == "0" && saveKnown && save == "":
		c.Severity, c.Seen = Danger, "appendonly is no, and there are no snapshots: a restart forgets every lock"
	case aof == "0" && saveKnown:
		c.Severity, c.Seen = Warning, fmt.Sprintf("appendonly is no: a restart after a crash forgets every lock since the last snapshot (save %s)", save)
	case aof == "0":
		c.Severity, c.Seen = Warning, "appendonly is no: a restart after a crash forgets at least the locks since the last snapshot"
	case p.info["aof_last_bgrewrite_status"] == "err":
		c.Severity, c.Seen, c.Mend = Warning, "the last rewrite of the append-only file failed: the file grows without bound", "look at the disk and at the log of the server; then BGREWRITEAOF"
	case policy == "":
		c = c.unknown("appendfsync", "appendfsync everysec or always")
	case policy == "no":
		c.Severity, c.Seen = Warning, "appendfsync is no: a crash of the machine forgets the locks of about the last 30s"
		c.Mend = "CONFIG SET appendfsync everysec, and the same line in redis.conf"
	case policy == "everysec":
		c.Severity, c.Seen = Note, "appendfsync is everysec: a crash of the machine forgets the locks of about the last second"
		c.Mend = "CONFIG SET appendfsync always, if that second matters and the speed does not; or use fencing"
	default:
		return []Check{c.fine("appendonly is yes, appendfsync is " + policy)}
	}
	return []Check{c}
}

func role(p *server, _ Config) []Check {
	c := Check{Code: "role", Why: "a replica grants no lock, and its clients get READONLY"}
	switch name := p.info["role"]; name {
	case "":
		return []Check{c.unknown("its role", "")}
	case "slave", "replica":
		c.Severity, c.Seen = Danger, "it is a replica of "+p.info["master_host"]+":"+p.info["master_port"]
		c.Mend = "name the primary in the URL, or use redis+sentinel://"
	case "active-replica":
		c.Severity, c.Seen = Danger, "it accepts writes beside another server (active replica)"
		c.Why, c.Mend = "both servers grant the lock", "active-replica no, and one primary"
	default:
		return []Check{c.fine("it is a " + name)}
	}
	return []Check{c}
}

func replicas(p *server, cfg Config) []Check {
	c := Check{Code: "replicas", Why: "replication is asynchronous: a failover loses the locks that the replica does not have, and others take them"}
	n := number(p.info, "connected_slaves")
	switch {
	case n < 0:
		return []Check{c.unknown("connected replicas", "")}
	case n == 0 && cfg.Replicas == 0:
		if c = c.fine("it has no replica"); p.info["repl_backlog_active"] == "1" {
			c.Severity, c.Seen = Warning, "it has no replica any more"
			c.Mend = "look at the network and the load of the replica; a server that is meant to be alone forgets it after repl-backlog-ttl"
		}
		return append([]Check{c}, tooFewReplicas(p)...)
	case n < int64(cfg.Replicas):
		c.Severity, c.Seen = Warning, fmt.Sprintf("it has %d replicas, and WithReplicas waits for %d", n, cfg.Replicas)
		c.Why, c.Mend = "no lock is granted with WithReplicas", "mend the replicas, or ask for fewer"
		return append([]Check{c}, tooFewReplicas(p)...)
	case cfg.Replicas == 0:
		c.Severity, c.Seen = Warning, fmt.Sprintf("it has %d replicas, and the locks do not wait for them", n)
		c.Mend = "use WithReplicas, a Quorum or fencing; then run redlatch doctor --replicas N"
	default:
		c = c.fine(fmt.Sprintf("it has %d replicas, and WithReplicas waits for %d", n, cfg.Replicas))
	}
	return append([]Check{c}, append(lag(p, int(n)), minReplicas(p)...)...)
}

// maxLag is how many seconds behind a replica may be.
const maxLag = 5

func lag(p *server, n int) (all []Check) {
	c := Check{Code: "replica-lag", Severity: Warning, Why: "a failover loses the locks that the replica does not have yet, and WithReplicas waits for it",
		Mend: "look at the network and the load of the replica: INFO replication"}
	for i := range n {
		line := "," + p.info["slave"+strconv.Itoa(i)]
		state, behind := attribute(line, "state"), attribute(line, "lag")
		seconds, _ := strconv.Atoi(behind)
		if state == "" || state == "online" && seconds < maxLag {
			continue
		}
		c.Seen = fmt.Sprintf("replica %s:%s is %s, and was last heard of %s s ago", attribute(line, "ip"), attribute(line, "port"), state, behind)
		all = append(all, c)
	}
	if len(all) == 0 {
		all = []Check{c.fine("each replica was heard of in the last seconds")}
	}
	return all
}

// attribute is the value of name= in a line of words with commas.
func attribute(line, name string) string {
	_, rest, _ := strings.Cut(line, ","+name+"=")
	value, _, _ := strings.Cut(rest, ",")
	return value
}

// tooFewReplicas looks for a primary that refuses every write, because too few replicas are in sync. INFO has
// their number only if min-replicas-to-write is set.
func tooFewReplicas(p *server) []Check {
	least, inSync := number(p.config, "min-replicas-to-write"), number(p.info, "min_slaves_good_slaves")
	if inSync < 0 || inSync >= max(least, 1) {
		return nil
	}
	return []Check{{
		Code: "min-replicas", Severity: Danger, Why: "it refuses to grant, renew and release locks until the replicas are back",
		Seen: fmt.Sprintf("%d of %d replicas that min-replicas-to-write asks for are in sync", inSync, max(least, 1)),
		Mend: "mend the replicas; or CONFIG SET min-replicas-to-write 0, and the same line in redis.conf",
	}}
}

func minReplicas(p *server) []Check {
	if few := tooFewReplicas(p); few != nil {
		return few
	}
	c := Check{Code: "min-replicas", Why: "a primary that is cut off from its replicas goes on granting locks that the next primary does not have"}
	switch n := number(p.config, "min-replicas-to-write"); {
	case n < 0:
		return []Check{c.unknown("min-replicas-to-write", "min-replicas-to-write 1")}
	case n == 0:
		c.Severity, c.Seen, c.Mend = Warning, "min-replicas-to-write is 0", "CONFIG SET min-replicas-to-write 1, and the same line in redis.conf"
		return []Check{c}
	default:
		return []Check{c.fine(fmt.Sprintf("min-replicas-to-write is %d", n))}
	}
}

// fine is a check that found nothing wrong.
func (c Check) fine(seen string) Check {
	c.Severity, c.Seen, c.Mend = OK, seen, ""
	return c
}

// unknown is a check of what the server does not tell.
func (c Check) unknown(what, right string) Check {
	c.Severity, c.Seen = Unknown, "the server does not tell "+what
	c.Mend = "ask its provider for " + what
	if right != "" {
		c.Mend += "; it should be " + right
	}
	return c
}

// bytes writes an amount of memory.
func bytes(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
