package doctor

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// server is one server and what was read of it.
type server struct {
	address  string
	pipeline func(ctx context.Context, commands ...driver.Command) []driver.Reply
	sharded  bool
	err      error // it does not answer

	info    map[string]string // the fields of INFO; empty if refused
	config  map[string]string // the settings that it tells
	user    string            // of this connection, "" if it does not tell
	slow    []driver.Reply    // SLOWLOG
	events  []driver.Reply    // LATENCY
	cluster map[string]string // CLUSTER INFO
	nodes   string            // CLUSTER NODES
	modules []string
	pings   []time.Duration
	ahead   time.Duration // its clock is ahead of this machine's
	within  time.Duration // by so much at most that may be wrong
	timed   bool          // its clock was read

	sessions, alive int64           // protected clients, and watchdogs
	sessionsErr     error           // these are unknown
	allowed         map[string]bool // by probe.name
	rightsErr       error           // the rights are unknown
}

// settings are what is asked of CONFIG, one by one: CONFIG GET * would show passwords.
var settings = []string{
	"save", "appendonly", "appendfsync", "min-replicas-to-write", "tcp-keepalive", "timeout",
	"client-output-buffer-limit", "maxclients", "busy-reply-threshold", "lua-time-limit",
	"cluster-require-full-coverage", "disable-thp", "stop-writes-on-bgsave-error",
}

// ask sends commands. After an answer that did not come, the server is asked no more.
func (p *server) ask(ctx context.Context, commands ...[]string) []driver.Reply {
	replies := make([]driver.Reply, len(commands))
	if p.err == nil {
		all := make([]driver.Command, len(commands))
		for i, words := range commands {
			all[i] = driver.Command{Words: words}
		}
		replies = guest.Counted(ctx, p.pipeline, all)
	}
	for _, r := range replies {
		if r.Err != nil && !refusal(r.Err) {
			p.err = r.Err
		}
	}
	return replies
}

// refusal says that the server has answered, with an error that concerns this command alone.
func refusal(err error) bool {
	answer, answered := errors.AsType[*driver.ServerError](err)
	return answered && mendRefusal[answer.Code()] == ""
}

// read reads everything, in some round trips.
func (p *server) read(ctx context.Context, cfg Config) {
	p.readInfo(ctx)
	p.readSettings(ctx)
	p.readPings(ctx)
	p.readClock(ctx)
	p.readSessions(ctx)
	p.readRights(ctx, cfg)
}

func (p *server) readInfo(ctx context.Context) {
	replies := p.ask(ctx, []string{"INFO"}, []string{"ACL", "WHOAMI"}, []string{"SLOWLOG", "GET", "128"}, []string{"MODULE", "LIST"}, []string{"LATENCY", "LATEST"})
	p.info = script.ReadInfo(replies[0].Str)
	p.user = cmp.Or(replies[1].Str, p.user)
	if replies[2].Err == nil {
		p.slow = replies[2].Array
	}
	p.events = replies[4].Array
	for _, m := range replies[3].Array {
		for i := 0; i+1 < len(m.Array); i += 2 {
			if m.Array[i].Str == "name" {
				p.modules = append(p.modules, m.Array[i+1].Str)
			}
		}
	}
	if p.info["cluster_enabled"] == "1" {
		replies = p.ask(ctx, []string{"CLUSTER", "INFO"}, []string{"CLUSTER", "NODES"})
		p.cluster, p.nodes = script.ReadInfo(replies[0].Str), replies[1].Str
	}
}

func (p *server) readSettings(ctx context.Context) {
	p.config = make(map[string]string)
	var commands [][]string
	for _, name := range settings {
		commands = append(commands, []string{"CONFIG", "GET", name})
	}
	for _, r := range p.ask(ctx, commands...) {
		if len(r.Array) == 2 {
			p.config[r.Array[0].Str] = r.Array[1].Str
		}
	}
}

// pings is how many round trips are measured.
const pings = 20

func (p *server) readPings(ctx context.Context) {
	for range pings {
		began := time.Now()
		if p.ask(ctx, []string{"PING"}); p.err != nil {
			return
		}
		p.pings = append(p.pings, time.Since(began))
	}
}

// readClock compares the clocks, in the quickest of three round trips.
func (p *server) readClock(ctx context.Context) {
	for range 3 {
		began := time.Now()
		reply := p.ask(ctx, []string{"TIME"})[0]
		took := time.Since(began)
		now, ok := script.Clock(reply)
		if !ok || p.timed && took/2 >= p.within {
			continue
		}
		p.within, p.timed = took/2, true
		p.ahead = now.Sub(began.Add(took / 2)) // of the server
	}
}

// readSessions counts the protected clients and the watchdogs. In a Cluster one server has them: the
// others redirect.
func (p *server) readSessions(ctx context.Context) {
	now := time.Now().Add(p.ahead).UnixMilli()
	replies := p.ask(ctx, []string{"ZCARD", protocol.Sessions},
		[]string{"ZCOUNT", protocol.Watchdogs, strconv.FormatInt(now, 10), "+inf"})
	p.sessions, p.alive = replies[0].Int, replies[1].Int
	p.sessionsErr = cmp.Or(replies[0].Err, replies[1].Err)
}

// number is a field of INFO or a setting, -1 if it is not told.
func number(of map[string]string, name string) int64 {
	n, err := strconv.ParseInt(of[name], 10, 64)
	if err != nil {
		return -1
	}
	return n
}
