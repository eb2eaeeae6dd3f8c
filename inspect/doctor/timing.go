package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// Whether it is quick, and its clock right.

func latency(p *server, cfg Config) []Check {
	c := Check{Code: "latency", Why: "a renewal that is not answered within a lease costs the lock"}
	sorted := slices.Sorted(slices.Values(p.pings))
	most, median := sorted[len(sorted)-1], sorted[len(sorted)/2]
	seen := fmt.Sprintf("%d PINGs took %v in the median and %v at most; a lease is %v", len(sorted), short(median), short(most), cfg.LeaseTime)
	c.Mend = fmt.Sprintf("look at SLOWLOG GET and the network; or set Config.LeaseTime to %v or more", short(100*most))
	switch {
	case most >= cfg.LeaseTime/3:
		return c.found(Danger, seen)
	case most >= cfg.LeaseTime/30:
		return c.found(Warning, seen)
	}
	return c.fine(seen)
}

// short rounds a time to three digits.
func short(d time.Duration) time.Duration {
	for unit := time.Nanosecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

// events looks at what the server has measured of itself, if latency-monitor-threshold is set: each event
// is {name, unix time, latest milliseconds, most milliseconds}.
func events(p *server, cfg Config) []Check {
	c := Check{Code: "latency-events", Why: "while the server is busy with itself, no lock is granted or renewed"}
	var names []string
	for _, e := range p.events {
		if len(e.Array) < 4 {
			continue
		}
		if most := script.Duration(e.Array[3].Int, time.Millisecond); most >= cfg.LeaseTime/30 {
			names = append(names, fmt.Sprintf("%s of %v", e.Array[0].Str, most))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	c.Mend = "LATENCY DOCTOR says what to do; LATENCY RESET forgets them"
	return c.found(Warning, "it has measured "+strings.Join(names, ", "))
}

// slowScripts looks for commands in the log of slow ones that kept renewals waiting: each entry is
// {id, unix time, microseconds, words, …}.
func slowScripts(p *server, cfg Config) []Check {
	c := Check{Code: "slow-commands", Why: "the server does one command at a time: while it runs, no lock is granted or renewed"}
	if p.slow == nil {
		return c.unknown("SLOWLOG GET", "")
	}
	var longest time.Duration
	what, n := "", 0
	for _, entry := range p.slow {
		if len(entry.Array) < 4 || len(entry.Array[3].Array) == 0 {
			continue
		}
		took := script.Duration(entry.Array[2].Int, time.Microsecond)
		if took >= cfg.LeaseTime/300 {
			n++
		}
		if took > longest {
			longest, what = took, strings.ToUpper(entry.Array[3].Array[0].Str)
		}
	}
	seen := fmt.Sprintf("%d commands of the SLOWLOG took %v or more; the longest is a %s of %v", n, cfg.LeaseTime/300, what, short(longest))
	c.Mend = "look at SLOWLOG GET, and give the locks a server of their own; SLOWLOG RESET forgets them"
	switch {
	case longest >= cfg.LeaseTime/3:
		return c.found(Danger, seen)
	case longest >= cfg.LeaseTime/30 || n > 0 && isScript(what):
		return c.found(Warning, seen)
	case n > 0:
		return c.found(Note, seen)
	}
	return c.fine("no command of the SLOWLOG took long")
}

func isScript(command string) bool {
	return slices.Contains([]string{"EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO"}, command)
}

// busyScripts looks at the time from which a script can be killed.
func busyScripts(p *server, cfg Config) []Check {
	c := Check{Code: "busy-scripts", Why: "a script that does not end stops all locks; only after this time can it be killed"}
	name := "busy-reply-threshold"
	n := number(p.config, name)
	if n < 0 {
		name = "lua-time-limit"
		n = number(p.config, name)
	}
	limit := script.Duration(n, time.Millisecond)
	c.Mend = fmt.Sprintf("CONFIG SET %s 5000, and the same line in redis.conf", name)
	switch {
	case n < 0:
		return c.unknown("busy-reply-threshold", "busy-reply-threshold 5000")
	case n == 0 || limit >= cfg.LeaseTime:
		return c.found(Note, fmt.Sprintf("%s is %d ms, and a lease %v", name, n, cfg.LeaseTime))
	}
	return c.fine(fmt.Sprintf("%s is %v", name, limit))
}

// farClock is how far a server's clock may be from that of this machine or of another server.
const farClock = time.Second

func clock(p *server, _ Config) []Check {
	c := Check{Code: "clock", Why: "deadlines of fair queues and tokens by the clock are the server's times; logs do not agree"}
	if !p.timed {
		return c.unknown("TIME", "")
	}
	seen := fmt.Sprintf("its clock is %v ahead of this machine's, ±%v", short(p.ahead), short(p.within))
	if p.ahead < 0 {
		seen = fmt.Sprintf("its clock is %v behind this machine's, ±%v", short(-p.ahead), short(p.within))
	}
	if p.ahead.Abs()-p.within < farClock {
		return c.fine(seen)
	}
	c.Mend = "run chrony or another time service on both, which slews the clock"
	return c.found(Note, seen)
}

// compareClocks compares the clocks of servers with each other.
func compareClocks(servers []*server) []Check {
	c := Check{
		Code: "server-clocks", Page: page("server-clocks"), Mend: "run chrony or another time service on each server",
		Why: "after a failover, TTLs, deadlines of queues and tokens by the clock go on by another clock",
	}
	var first, last *server
	n := 0
	for _, p := range servers {
		if !p.timed || p.err != nil {
			continue
		}
		n++
		if first == nil || p.ahead < first.ahead {
			first = p
		}
		if last == nil || p.ahead > last.ahead {
			last = p
		}
	}
	if n < 2 {
		return nil
	}
	apart, within := last.ahead-first.ahead, last.within+first.within
	seen := fmt.Sprintf("the clock of %s is %v ahead of that of %s, ±%v", last.address, short(apart), first.address, short(within))
	if apart-within < farClock {
		return c.fine(fmt.Sprintf("the clocks of %d servers are %v apart at most, ±%v", n, short(apart), short(within)))
	}
	return c.found(Warning, seen)
}

func watchdogs(p *server, _ Config) []Check {
	c := Check{Code: "watchdogs", Why: "clients with Config.Protect lose their locks in a pause, as if they were not protected"}
	switch {
	case script.Code(p.sessionsErr) == "MOVED":
		return nil // another server of the Cluster has them
	case p.sessionsErr != nil:
		return c.unknown("the heartbeats of watchdogs: "+p.sessionsErr.Error(), "")
	case p.sessions == 0 && p.alive == 0:
		return c.fine("no client is protected, and no watchdog runs")
	case p.alive == 0:
		c.Mend = "redlatch watchdog --redis URL, on three machines"
		return c.found(Warning, fmt.Sprintf("%d clients are protected, and no watchdog is alive", p.sessions))
	case p.alive == 1 && p.sessions > 0:
		c.Mend = "redlatch watchdog --redis URL, on two more machines"
		return c.found(Note, fmt.Sprintf("%d clients are protected by one watchdog", p.sessions))
	}
	return c.fine(fmt.Sprintf("%d clients are protected, %d watchdogs are alive", p.sessions, p.alive))
}
