package doctor

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Danger  Severity = "danger"  // a lock can have two holders after an ordinary event, or locks do not work
	Warning Severity = "warning" // locks fail or are late under load or after a failure
	Unknown Severity = "unknown" // the server does not say
	Note    Severity = "note"    // it is worth knowing
	OK      Severity = "ok"      // nothing is wrong
)

// severities are the severities, the worst first.
var severities = []Severity{Danger, Warning, Unknown, Note, OK}

// Check is the result of one examination of one server.
type Check struct {
	Server   string   `json:"server"` // its address; "" for several servers together
	Code     string   `json:"code"`   // for programs
	Severity Severity `json:"severity"`
	Seen     string   `json:"seen"`           // what was seen
	Why      string   `json:"why"`            // why it matters for locks
	Mend     string   `json:"mend,omitempty"` // a command or a line of configuration; "" if nothing is wrong
	Page     string   `json:"page"`           // the page that says more
}

// Config says how the clients use the locks. The zero value is useful.
type Config struct {
	LeaseTime time.Duration // Config.LeaseTime of the clients. Default: 30s.
	Replicas  int           // how many replicas WithReplicas waits for. Default: 0: the clients do not use it.
	Prefix    string        // the text with which the names of all locks begin. Default: none.
}

// Target is a deployment that is examined: a server, or a Cluster.
type Target struct {
	Name   string // its address, for the checks of a single server
	User   string // as which clients log in, if the server does not say it
	Driver driver.Driver
	// Sentinels watch the server. Master is the name by which they know it.
	Sentinels []Sentinel
	Master    string
}

// Sentinel is one sentinel. Err says why there is no connection to it.
type Sentinel struct {
	Address string
	Driver  driver.Driver
	Err     error
}

// Examine examines all servers of the targets concurrently. The checks are in the order of the targets. For
// each server the worst come first.
func Examine(ctx context.Context, cfg Config, targets ...Target) []Check {
	cfg.LeaseTime = cmp.Or(cfg.LeaseTime, 30*time.Second)
	var servers []*server
	var all []Check
	for _, t := range targets {
		found, why := serversOf(ctx, t)
		servers = append(servers, found...)
		all = append(all, why...)
	}
	var examining sync.WaitGroup
	for _, p := range servers {
		examining.Go(func() { p.read(ctx, cfg) })
	}
	examining.Wait()
	for _, p := range servers {
		all = append(all, p.checks(cfg)...)
	}
	all = append(all, compareClocks(servers)...)
	for _, t := range targets {
		if len(t.Sentinels) > 0 {
			all = append(all, examineSentinels(ctx, cfg, t)...)
		}
	}
	return all
}

// serversOf are the servers of a target.
func serversOf(ctx context.Context, t Target) ([]*server, []Check) {
	_, sharded := t.Driver.(driver.Sharded)
	fleet, ok := t.Driver.(driver.Fleet)
	if !ok {
		return []*server{{address: t.Name, user: t.User, pipeline: t.Driver.Pipeline, sharded: sharded}}, nil
	}
	servers, err := fleet.Servers(ctx)
	if err != nil {
		return nil, []Check{Unreachable(t.Name, err)}
	}
	var all []*server
	for _, s := range servers {
		all = append(all, &server{address: s.Address, user: t.User, pipeline: s.Pipeline, sharded: true})
	}
	return all, nil
}

// checks makes the checks of a server of what was read.
func (p *server) checks(cfg Config) []Check {
	if p.err != nil {
		return []Check{Unreachable(p.address, p.err)}
	}
	var all []Check
	for _, examine := range examinations {
		all = append(all, examine(p, cfg)...)
	}
	for i := range all {
		all[i].Server = p.address
		all[i].Page = page(all[i].Code)
	}
	slices.SortStableFunc(all, func(a, b Check) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return all
}

// examinations are what is examined of each server.
var examinations = []func(p *server, cfg Config) []Check{
	version, role, scripts, eviction, memory, persistence, replicas, connections, buffers, clients,
	rights, latency, events, slowScripts, busyScripts, clock, watchdogs, cluster, modules, hugePages,
}

// page is where docs/doctor.md explains a check.
func page(code string) string {
	return "https://github.com/redlatch/redlatch/blob/main/docs/doctor.md#" + code
}

// Unreachable returns the check of a target that the caller could not connect to.
func Unreachable(address string, err error) Check {
	c := Check{
		Server: address, Code: "reachable", Severity: Danger, Page: page("reachable"),
		Seen: "it does not answer: " + err.Error(),
		Why:  "no lock is granted, and holders lose theirs after a lease",
		Mend: "start it, or mend the network, and run redlatch doctor again",
	}
	if answer, ok := errors.AsType[*driver.ServerError](err); ok {
		c.Seen, c.Mend = "it answers, and refuses: "+err.Error(), "name the primary that has the locks in the URL"
		if mend, known := mendRefusal[answer.Code()]; known {
			c.Mend = mend
		}
	}
	return c
}

// mendRefusal is what helps if a server refuses everything, by the first word of its answer.
var mendRefusal = map[string]string{
	"BUSY":      "SCRIPT KILL ends the script, unless it has written",
	"LOADING":   "wait until it has loaded its data",
	"NOAUTH":    "give the user and the password in the URL, or by --password-file",
	"WRONGPASS": "give the right user and password in the URL, or by --password-file",
}

// NoRights returns the check of a target whose user may not even connect.
func NoRights(t Target, cfg Config, err error) Check {
	p := server{user: t.User, rightsErr: err}
	c := rights(&p, cfg)[0]
	c.Server, c.Page, c.Seen = t.Name, page(c.Code), err.Error()
	return c
}

// NotAtomic returns the check of a server that Open refuses, because its scripts are not atomic.
func NotAtomic(address string, err error) Check {
	c := garnet()
	c.Server, c.Page, c.Seen = address, page(c.Code), err.Error()
	return c
}
