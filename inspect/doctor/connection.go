package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// What ends connections, or refuses them.

func connections(p *server, _ Config) []Check {
	return append(keepAlive(p), idle(p)...)
}

// usualKeepAlive is the default of tcp-keepalive, in seconds.
const usualKeepAlive = 300

func keepAlive(p *server) []Check {
	c := Check{Code: "tcp-keepalive", Why: "the server takes a machine that is lost for one that is paused: with Config.Protect its locks stay until --max-pause"}
	c.Mend = "CONFIG SET tcp-keepalive 300, and the same line in redis.conf"
	n := number(p.config, "tcp-keepalive")
	switch {
	case n < 0:
		return c.unknown("tcp-keepalive", "tcp-keepalive 300 or less")
	case n == 0:
		return c.found(Warning, "tcp-keepalive is 0: connections of lost machines stay open")
	case n > usualKeepAlive:
		return c.found(Note, fmt.Sprintf("tcp-keepalive is %d s", n))
	}
	return c.fine(fmt.Sprintf("tcp-keepalive is %d s", n))
}

// shortestIdle is the timeout in seconds from which clients' own PINGs keep connections open.
const shortestIdle = 60

func idle(p *server) []Check {
	c := Check{Code: "timeout", Why: "the server closes idle connections: each is opened anew, and a request at that moment may fail"}
	c.Mend = "CONFIG SET timeout 0, and the same line in redis.conf"
	switch n := number(p.config, "timeout"); {
	case n < 0:
		return c.unknown("timeout", "timeout 0")
	case n > 0 && n < shortestIdle:
		return c.found(Warning, fmt.Sprintf("timeout is %d s", n))
	case n > 0:
		return c.found(Note, fmt.Sprintf("timeout is %d s; the clients send a PING before that", n))
	}
	return c.fine("timeout is 0: idle connections stay open")
}

// smallestBuffer is what some thousand messages take.
const smallestBuffer = 1 << 20

// buffers looks at the buffer for subscribers: "normal 0 0 0 slave … pubsub hard soft seconds".
func buffers(p *server, _ Config) []Check {
	c := Check{Code: "pubsub-buffer", Why: "the server drops a subscriber whose buffer is full: its waiters are told late, and its pulse ends"}
	c.Mend = `CONFIG SET client-output-buffer-limit "pubsub 33554432 8388608 60", and the same line in redis.conf`
	_, rest, _ := strings.Cut(p.config["client-output-buffer-limit"], "pubsub ")
	limits := strings.Fields(rest)
	if len(limits) < 3 {
		return c.unknown("client-output-buffer-limit pubsub", "32mb 8mb 60")
	}
	seen := "client-output-buffer-limit pubsub is " + strings.Join(limits[:3], " ")
	for _, limit := range limits[:2] {
		if n, err := strconv.ParseInt(limit, 10, 64); err == nil && n > 0 && n < smallestBuffer {
			return c.found(Warning, seen)
		}
	}
	return c.fine(seen)
}

func clients(p *server, _ Config) []Check {
	c := Check{Code: "maxclients", Why: "a server that is full refuses connections: no lock is granted, and a client that has lost its connection loses its locks"}
	most, now := number(p.info, "maxclients"), number(p.info, "connected_clients")
	if most < 0 {
		most = number(p.config, "maxclients")
	}
	seen := fmt.Sprintf("%d of %d connections are open", now, most)
	switch {
	case most < 0 || now < 0:
		return c.unknown("maxclients", "")
	case now >= most/10*9:
		c.Mend = fmt.Sprintf("CONFIG SET maxclients %d, and the same line in redis.conf", 2*most)
		return c.found(Warning, seen)
	case number(p.info, "rejected_connections") > 0:
		c.Mend = "look for the time at which there were too many clients"
		return c.found(Note, seen+"; since its start it has refused "+p.info["rejected_connections"])
	}
	return c.fine(seen)
}

func hugePages(p *server, _ Config) []Check {
	c := Check{Code: "huge-pages", Why: "with transparent huge pages, a fork for a snapshot makes the server slow", Mend: "disable-thp yes in redis.conf, and a restart"}
	if p.config["disable-thp"] != "no" {
		return nil // it disables them for itself, or does not tell
	}
	return c.found(Note, "disable-thp is no")
}

func modules(p *server, _ Config) []Check {
	if len(p.modules) == 0 {
		return nil
	}
	return []Check{{
		Code: "modules", Severity: Note, Seen: "it has the modules " + strings.Join(p.modules, ", "),
		Why:  "a command of a module can keep the server from all others for long",
		Mend: "give the locks a server of their own if SLOWLOG shows such commands",
	}}
}
