package lock

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// names are the names of other clients, as far as a manager knows them. A client keeps its name.
type names struct {
	mu      sync.Mutex
	known   map[string]string    // by the client's id
	missing map[string]time.Time // when a client was last looked for in vain
	refused bool                 // the server does not tell
}

const (
	// maxNames bounds the memory of names.
	maxNames = 1024
	// askAgain is for how long a client that was not found is not looked for again. Listing the
	// connections takes the server about a microsecond for each.
	askAgain = 30 * time.Second
)

// knownName is the name of an owner's client, "" if it is not known. It does not touch Redis.
func (m *Manager) knownName(owner string) string {
	client, _, _ := protocol.ParseOwner(owner)
	if name, ok := here.Load(client); ok {
		return name.(string)
	}
	m.names.mu.Lock()
	defer m.names.mu.Unlock()
	return m.names.known[client]
}

// learnNames asks the server that has a lock for the names of the clients of owners, if they are
// unknown. A server that refuses is not asked again: it would note that each time.
func (m *Manager) learnNames(ctx context.Context, lock string, owners []string) {
	wanted := m.names.wanted(owners, time.Now())
	if len(wanted) == 0 {
		return
	}
	result, err := m.runner.Run(ctx, script.Clients(lock))
	var found map[string]string
	if err == nil {
		found, err = script.ReadClients(result.Reply, func(client string) bool { return wanted[client] })
	}
	_, refused := errors.AsType[*driver.ServerError](err)
	m.names.learn(wanted, found, refused, time.Now())
}

// wanted are the clients of owners that are to be looked for.
func (n *names) wanted(owners []string, now time.Time) map[string]bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := make(map[string]bool)
	for _, owner := range owners {
		client, _, ok := protocol.ParseOwner(owner)
		_, ours := here.Load(client)
		missed, missing := n.missing[client]
		if ok && !ours && n.known[client] == "" && !n.refused && !(missing && now.Sub(missed) < askAgain) {
			wanted[client] = true
		}
	}
	return wanted
}

// learn takes note of an answer.
func (n *names) learn(wanted map[string]bool, found map[string]string, refused bool, now time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refused = n.refused || refused
	if n.known == nil || len(n.known)+len(found) > maxNames {
		n.known = make(map[string]string)
	}
	if n.missing == nil || len(n.missing)+len(wanted) > maxNames {
		n.missing = make(map[string]time.Time)
	}
	maps.Copy(n.known, found)
	for client := range wanted {
		if found[client] == "" {
			n.missing[client] = now
		}
	}
}

// shown is an owner for a person to read, with the name of its client if that is known.
func (m *Manager) shown(owner string) string {
	if name := m.knownName(owner); name != "" {
		return fmt.Sprintf("%s (%s)", protocol.Show(owner), protocol.Show(name))
	}
	return protocol.Show(owner)
}

// addNames puts the names of clients into a status. It asks for them until then.
func (m *Manager) addNames(ctx context.Context, lock string, status *Status, until time.Time) {
	limited, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	var owners []string
	for _, h := range status.Holders {
		owners = append(owners, h.Owner)
	}
	for _, w := range status.Queue {
		owners = append(owners, w.Owner)
	}
	m.learnNames(limited, lock, slices.Compact(owners))
	for i := range status.Holders {
		status.Holders[i].Name = m.knownName(status.Holders[i].Owner)
	}
	for i := range status.Queue {
		status.Queue[i].Name = m.knownName(status.Queue[i].Owner)
	}
}
