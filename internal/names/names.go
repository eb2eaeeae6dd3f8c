// Package names knows which process an owner belongs to, for people: Config.Name of the owner's client. Nothing
// depends on it.
package names

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// here are the names of this process's managers, by their ids: a sync.Map from string to string.
// Managers on one embedded server, or on a driver of the caller's own, know each other by it.
var here sync.Map

// Join makes the name of a client of this process known, and Leave forgets it.
func Join(client, name string) { here.Store(client, name) }
func Leave(client string)      { here.Delete(client) }

// Names are the names of other clients, as far as a client knows them. A client keeps its name.
type Names struct {
	runner *script.Runner
	asking chan struct{} // capacity one, taken by whoever lists the clients of a server

	mu      sync.Mutex
	known   map[string]string    // by the client's id
	listed  map[string]time.Time // by server: when its clients were listed last
	refused bool                 // the server does not tell
}

const (
	// maxNames bounds the memory of names.
	maxNames = 1024
	// listAgain is for how long a server is not listed again, whoever is not in the list. That takes it
	// about a microsecond for each connection.
	listAgain = 5 * time.Second
)

// New returns names that asks by a runner.
func New(runner *script.Runner) *Names {
	return &Names{runner: runner, asking: make(chan struct{}, 1), known: make(map[string]string), listed: make(map[string]time.Time)}
}

// Known is the name of an owner's client, "" if it is not known. It does not touch Redis.
func (n *Names) Known(owner string) string {
	client, _, _ := protocol.ParseOwner(owner)
	if name, ok := here.Load(client); ok {
		return name.(string)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known[client]
}

// Learn asks the server that has a lock for the names of its clients, if those of owners are
// unknown. A server that refuses is not asked again: it would note that each time.
func (n *Names) Learn(ctx context.Context, server, lock string, owners []string) {
	if !n.wanted(owners, server) {
		return
	}
	select {
	case n.asking <- struct{}{}:
		defer func() { <-n.asking }()
	case <-ctx.Done():
		return
	}
	if !n.wanted(owners, server) { // whoever has just asked has learned them
		return
	}
	result, err := n.runner.Run(ctx, script.Clients(lock))
	var found map[string]script.Connection
	if err == nil {
		found, err = script.ReadConnections(result.Reply)
	}
	_, refused := errors.AsType[*driver.ServerError](err)
	n.learn(owners, server, found, refused)
}

// wanted says whether a server is to be listed for the names of owners.
func (n *Names) wanted(owners []string, server string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at, listed := n.listed[server]; n.refused || listed && time.Since(at) < listAgain {
		return false
	}
	return slices.ContainsFunc(owners, func(owner string) bool {
		client, _, ok := protocol.ParseOwner(owner)
		_, ours := here.Load(client)
		return ok && !ours && n.known[client] == ""
	})
}

// learn takes note of a list. If it is too long, the clients of owners come first.
func (n *Names) learn(owners []string, server string, found map[string]script.Connection, refused bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused, n.listed[server] = n.refused || refused, time.Now()
	if len(n.known)+len(found) > maxNames {
		clear(n.known)
	}
	for _, owner := range owners {
		client, _, _ := protocol.ParseOwner(owner)
		if name := found[client].Name; name != "" {
			n.known[client] = name
		}
	}
	for client, c := range found {
		if len(n.known) >= maxNames {
			break
		}
		n.known[client] = c.Name
	}
}

// Shown is an owner for a person to read, with the name of its client if that is known.
func (n *Names) Shown(owner string) string {
	if name := n.Known(owner); name != "" {
		return fmt.Sprintf("%s (%s)", protocol.Show(owner), protocol.Show(name))
	}
	return protocol.Show(owner)
}
