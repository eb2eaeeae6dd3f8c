package doctor

import (
	"fmt"
	"slices"
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
		return c.unknown("maxmemory-policy", "maxmemory-policy noeviction")
	case policy != "noeviction" && limit > 0:
		return c.found(Danger, fmt.Sprintf("maxmemory-policy is %s, maxmemory is %s%s", policy, bytes(limit), evicted))
	case policy != "noeviction":
		return c.found(Note, fmt.Sprintf("maxmemory-policy is %s; nothing is evicted while maxmemory is 0", policy))
	}
	return c.fine("maxmemory-policy is noeviction" + evicted)
}

func memory(p *server, _ Config) []Check {
	c := Check{Code: "memory", Why: "a full server grants no lock; renewals and releases still work"}
	limit, used := number(p.info, "maxmemory"), number(p.info, "used_memory")
	switch {
	case limit < 0 || used < 0:
		return c.unknown("maxmemory and used_memory", "")
	case limit > 0 && used >= limit/10*9:
		c.Mend = fmt.Sprintf("CONFIG SET maxmemory %d, or remove data", 2*limit)
		return c.found(Warning, fmt.Sprintf("%s of %s are used", bytes(used), bytes(limit)))
	case limit == 0:
		return c.fine("maxmemory is 0: no limit")
	}
	return c.fine(fmt.Sprintf("%s of %s are used", bytes(used), bytes(limit)))
}

func persistence(p *server, _ Config) []Check {
	c := Check{Code: "persistence", Mend: "CONFIG SET appendonly yes, and appendonly yes in redis.conf"}
	c.Why = "a restart forgets the locks that are not on disk, and others take them while their holders work on"
	save, saveKnown := p.config["save"]
	aof, policy := p.info["aof_enabled"], p.config["appendfsync"]
	switch {
	case p.info["rdb_last_bgsave_status"] == "err" && p.config["stop-writes-on-bgsave-error"] == "yes" && save != "":
		c.Mend = "look at the disk and at the log of the server; then BGSAVE"
		return c.found(Danger, "the last snapshot failed, and stop-writes-on-bgsave-error is yes: it refuses every lock")
	case aof == "1" && p.info["aof_last_write_status"] == "err":
		c.Why = "no lock is granted, renewed or released meanwhile, so the leases of all locks run out"
		c.Mend = "look at the disk and at the log of the server, and make room; the server then goes on by itself"
		return c.found(Danger, "the last write to the append-only file failed: it refuses every write (MISCONF) until one succeeds")
	case aof == "":
		return c.unknown("appendonly, appendfsync and save", "appendonly yes, appendfsync everysec")
	case aof == "0" && saveKnown && save == "":
		return c.found(Danger, "appendonly is no, and there are no snapshots: a restart forgets every lock")
	case aof == "0" && saveKnown:
		return c.found(Warning, fmt.Sprintf("appendonly is no: a restart after a crash forgets every lock since the last snapshot (save %s)", save))
	case aof == "0":
		return c.found(Warning, "appendonly is no: a restart after a crash forgets at least the locks since the last snapshot")
	case p.info["aof_last_bgrewrite_status"] == "err":
		c.Mend = "look at the disk and at the log of the server; then BGREWRITEAOF"
		return c.found(Warning, "the last rewrite of the append-only file failed: the file grows without bound")
	case policy == "":
		return c.unknown("appendfsync", "appendfsync everysec or always")
	case policy == "no":
		c.Mend = "CONFIG SET appendfsync everysec, and the same line in redis.conf"
		return c.found(Warning, "appendfsync is no: a crash of the machine forgets the locks of about the last 30s")
	case policy == "everysec":
		c.Mend = "CONFIG SET appendfsync always, if that second matters and the speed does not; or use fencing"
		return c.found(Note, "appendfsync is everysec: a crash of the machine forgets the locks of about the last second")
	}
	return c.fine("appendonly is yes, appendfsync is " + policy)
}

func role(p *server, _ Config) []Check {
	c := Check{Code: "role", Why: "a replica grants no lock, and its clients get READONLY"}
	switch p.info["role"] {
	case "":
		return c.unknown("its role", "")
	case "slave", "replica":
		c.Mend = "name the primary in the URL, or use redis+sentinel://"
		return c.found(Danger, "it is a replica of "+p.info["master_host"]+":"+p.info["master_port"])
	case "active-replica":
		c.Why, c.Mend = "both servers grant the lock", "active-replica no, and one primary"
		return c.found(Danger, "it accepts writes beside another server (active replica)")
	}
	return c.fine("it is a " + p.info["role"])
}

func replicas(p *server, cfg Config) []Check {
	c := Check{Code: "replicas", Why: "replication is asynchronous: a failover loses the locks that the replica does not have, and others take them"}
	n := number(p.info, "connected_slaves")
	waits := fmt.Sprintf("it has %d replicas, and WithReplicas waits for %d", n, cfg.Replicas)
	switch {
	case n < 0:
		return c.unknown("connected replicas", "")
	case n == 0 && cfg.Replicas == 0 && p.info["repl_backlog_active"] == "1":
		c.Mend = "look at the network and the load of the replica; a server that is meant to be alone forgets it after repl-backlog-ttl"
		return append(c.found(Warning, "it has no replica any more"), tooFewReplicas(p)...)
	case n == 0 && cfg.Replicas == 0:
		return append(c.fine("it has no replica"), tooFewReplicas(p)...)
	case n < int64(cfg.Replicas):
		c.Why, c.Mend = "no lock is granted with WithReplicas", "mend the replicas, or ask for fewer"
		return append(c.found(Warning, waits), tooFewReplicas(p)...)
	case cfg.Replicas == 0:
		c.Mend = "use WithReplicas, a Quorum or fencing; then run redlatch doctor --replicas N"
		return slices.Concat(c.found(Warning, fmt.Sprintf("it has %d replicas, and the locks do not wait for them", n)), lag(p, int(n)), minReplicas(p))
	}
	return slices.Concat(c.fine(waits), lag(p, int(n)), minReplicas(p))
}

// maxLag is how many seconds behind a replica may be.
const maxLag = 5

func lag(p *server, n int) (all []Check) {
	c := Check{Code: "replica-lag", Why: "a failover loses the locks that the replica does not have yet, and WithReplicas waits for it",
		Mend: "look at the network and the load of the replica: INFO replication"}
	for i := range n {
		line := "," + p.info["slave"+strconv.Itoa(i)]
		state, behind := attribute(line, "state"), attribute(line, "lag")
		seconds, _ := strconv.Atoi(behind)
		if state == "" || state == "online" && seconds < maxLag {
			continue
		}
		seen := fmt.Sprintf("replica %s:%s is %s, and was last heard of %s s ago", attribute(line, "ip"), attribute(line, "port"), state, behind)
		all = append(all, c.found(Warning, seen)...)
	}
	if len(all) == 0 {
		return c.fine("each replica was heard of in the last seconds")
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
	c.Mend = "CONFIG SET min-replicas-to-write 1, and the same line in redis.conf"
	n := number(p.config, "min-replicas-to-write")
	switch {
	case n < 0:
		return c.unknown("min-replicas-to-write", "min-replicas-to-write 1")
	case n == 0:
		return c.found(Warning, "min-replicas-to-write is 0")
	}
	return c.fine(fmt.Sprintf("min-replicas-to-write is %d", n))
}

// found is a check that found something.
func (c Check) found(severity Severity, seen string) []Check {
	c.Severity, c.Seen = severity, seen
	return []Check{c}
}

// fine is a check that found nothing wrong.
func (c Check) fine(seen string) []Check {
	c.Mend = ""
	return c.found(OK, seen)
}

// unknown is a check of what the server does not tell.
func (c Check) unknown(what, right string) []Check {
	c.Mend = "ask its provider for " + what
	if right != "" {
		c.Mend += "; it should be " + right
	}
	return c.found(Unknown, "the server does not tell "+what)
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
