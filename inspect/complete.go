package inspect

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// complete adds to locks what is not in their keys: the processes of owners, who listens, and what the
// watchdogs know. What cannot be read stays unknown.
func (i *Inspector) complete(ctx context.Context, locks []Lock) {
	if len(locks) == 0 {
		return
	}
	servers, err := i.servers(ctx)
	if err != nil {
		return
	}
	i.countListeners(ctx, servers, locks)
	i.addProcesses(ctx, servers, locks)
	i.addProtection(ctx, servers, locks)
	i.findLost(locks)
}

// masters are the servers that have keys, as they were a moment ago.
type masters struct {
	mu  sync.Mutex
	at  time.Time
	all []driver.Server
}

// mastersFor is for how long a list of the masters is used.
const mastersFor = time.Second

// servers are all masters.
func (i *Inspector) servers(ctx context.Context) ([]driver.Server, error) {
	m := &i.masters
	m.mu.Lock()
	all, recent := m.all, time.Since(m.at) < mastersFor
	m.mu.Unlock()
	if recent {
		return all, nil
	}
	return i.currentServers(ctx)
}

// currentServers are the masters of now.
func (i *Inspector) currentServers(ctx context.Context) ([]driver.Server, error) {
	fleet, ok := i.driver.(driver.Fleet)
	if !ok {
		return []driver.Server{{Pipeline: i.driver.Pipeline}}, nil
	}
	if err := i.pace.take(ctx, 2); err != nil { // the slot map and its epoch
		return nil, err
	}
	all, err := fleet.Servers(ctx)
	if err == nil {
		m := &i.masters
		m.mu.Lock()
		m.at, m.all = time.Now(), all
		m.mu.Unlock()
	}
	return all, err
}

// askAll sends commands to all servers, side by side. It returns the replies of each, and nothing if
// ctx has ended.
func (i *Inspector) askAll(ctx context.Context, servers []driver.Server, commands ...driver.Command) [][]driver.Reply {
	if len(commands) == 0 || i.pace.take(ctx, len(servers)*len(commands)) != nil {
		return nil
	}
	replies := make([][]driver.Reply, len(servers))
	var asking sync.WaitGroup
	for n, s := range servers {
		asking.Go(func() { replies[n] = i.send(ctx, s.Pipeline, commands) })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return replies
}
