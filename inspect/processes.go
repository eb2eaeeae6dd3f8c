package inspect

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// processes are the clients of redlatch that have a connection. A connection's name has the client's
// UUID (decision 0021). Java processes do not say who they are.
type processes struct {
	mu     sync.Mutex
	listed time.Time           // when the servers were last asked
	all    bool                // and every server has answered
	now    map[string]*Process // who had a connection then, by the client
	known  map[string]*Process // who ever had one
	absent map[string]bool     // who was looked for in vain since the list was read
}

const (
	// listAgain is for how long a list of connections is used. The server takes about a microsecond
	// for each connection, and answers nobody else meanwhile.
	listAgain = 2 * time.Second
	// listSoon is the same while an owner is there who was not looked for yet.
	listSoon = 500 * time.Millisecond
	// maxKnown bounds the memory of processes.
	maxKnown = 100_000
)

// addProcesses names the processes of holders and waiters.
func (i *Inspector) addProcesses(ctx context.Context, servers []driver.Server, locks []Lock) {
	clients := clientsOf(locks)
	if i.processes.outdated(clients) {
		i.listProcesses(ctx, servers)
	}
	p := &i.processes
	p.mu.Lock()
	defer p.mu.Unlock()
	p.note(clients)
	for n := range locks {
		for h := range locks[n].Holders {
			one := &locks[n].Holders[h]
			one.Process = p.now[clientOf(one.Owner)]
		}
		for w := range locks[n].Queue {
			one := &locks[n].Queue[w]
			one.Process = p.now[clientOf(one.Owner)]
		}
	}
}

// outdated says that the list of connections has to be read again for some clients.
func (p *processes) outdated(clients []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	isNew := slices.ContainsFunc(clients, func(client string) bool { return p.now[client] == nil && !p.absent[client] })
	age := time.Since(p.listed)
	return age >= listAgain || isNew && age >= listSoon
}

// note remembers who is not in the list.
func (p *processes) note(clients []string) {
	for _, client := range clients {
		if p.now[client] == nil && len(p.absent) < maxKnown {
			p.absent[client] = true
		}
	}
}

// listProcesses asks the servers for their connections.
func (i *Inspector) listProcesses(ctx context.Context, servers []driver.Server) {
	answers := i.askAll(ctx, servers, driver.Command{Words: []string{"CLIENT", "LIST", "TYPE", "normal"}})
	if answers == nil {
		return
	}
	now, all := make(map[string]*Process), true
	for _, replies := range answers {
		connections, err := script.ReadConnections(replies[0])
		if err != nil {
			all = false
			i.notices.unread(err, "+client|list", "The processes of owners are")
		}
		for client, c := range connections {
			now[client] = &Process{Client: client, Name: c.Name, Addr: c.Addr}
		}
	}
	p := &i.processes
	p.mu.Lock()
	defer p.mu.Unlock()
	p.absent = make(map[string]bool)
	p.listed, p.all, p.now = time.Now(), all, now
	if p.known == nil || len(p.known) > maxKnown {
		p.known = make(map[string]*Process)
	}
	maps.Copy(p.known, now)
}

// findLost adds a finding for each holder without a connection. It concerns clients of redlatch alone:
// those that had a connection before, and those with a session. Nothing is known of others.
func (i *Inspector) findLost(locks []Lock) {
	p := &i.processes
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.all {
		return
	}
	for n := range locks {
		for _, h := range locks[n].Holders {
			if h.Process == nil && p.isLost(h) {
				locks[n].Findings = append(locks[n].Findings, noConnection(locks[n].Name, h))
			}
		}
	}
}

// isLost says that a holder who is not in the list of connections has none. The list is up to two seconds
// old, and connections may have no name. So the heartbeat of a protected client decides.
func (p *processes) isLost(h Holder) bool {
	if h.Protection != nil {
		return h.Protection.Dead
	}
	return p.known[clientOf(h.Owner)] != nil
}
