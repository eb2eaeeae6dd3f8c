package redlatch

import (
	"context"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/wake"
)

// beatInterval is how often a process says that its waiters for fair locks are alive. The
// scripts take one for dead after 3.5 s, so that three beats may be late or lost.
const beatInterval = time.Second

// heart says for a client that its waiters for fair locks are alive: one request a second
// for each lock, however many wait. It has a goroutine only while somebody waits.
type heart struct {
	client *Client

	mu      sync.Mutex
	waiters map[string]map[string]*wake.Waiter // by lock and owner
	beating bool
}

// add makes the heart beat for a waiter.
func (h *heart) add(t *tenure, w *wake.Waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiters == nil {
		h.waiters = make(map[string]map[string]*wake.Waiter)
	}
	owners := h.waiters[t.point.name]
	if owners == nil {
		owners = make(map[string]*wake.Waiter)
		h.waiters[t.point.name] = owners
	}
	owners[t.owner] = w
	if !h.beating {
		h.beating = true
		h.client.background.Go(h.beat)
	}
}

// remove ends that. No beat that is sent afterwards speaks of the waiter.
func (h *heart) remove(t *tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiters[t.point.name], t.owner)
	if len(h.waiters[t.point.name]) == 0 {
		delete(h.waiters, t.point.name)
	}
}

// beat goes on until nobody waits.
func (h *heart) beat() {
	tick := time.NewTicker(beatInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-h.client.life.Done(): // the waiters are leaving
			h.mu.Lock()
			h.beating = false
			h.mu.Unlock()
			return
		}
		locks, ok := h.locks()
		if !ok {
			return
		}
		for _, name := range locks {
			h.beatFor(name)
		}
	}
}

// locks are those that somebody waits for. It ends the beating when there are none.
func (h *heart) locks() ([]string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	for name := range h.waiters {
		names = append(names, name)
	}
	h.beating = len(names) > 0
	return names, h.beating
}

// beatFor speaks for the waiters of one lock, and wakes those that have something to do:
// the next in turn, and whoever is missing from the queue. An error is no matter: the next
// beat follows, and waiters look for themselves.
func (h *heart) beatFor(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), h.client.config.CommandTimeout)
	defer cancel()
	fair := script.NewFair(name, h.client.config.FairWait, h.client.messages)
	for owners := range h.chunks(name) {
		result, err := h.client.runner.Run(ctx, fair.Beat(owners))
		if err != nil {
			return
		}
		beaten, err := script.ReadBeaten(result.Reply)
		if err != nil {
			return
		}
		h.wake(name, beaten)
	}
}

// chunks yields the owners that wait for a lock, a script's worth at a time.
func (h *heart) chunks(name string) func(yield func([]string) bool) {
	const most = 1000
	h.mu.Lock()
	var owners []string
	for owner := range h.waiters[name] {
		owners = append(owners, owner)
	}
	h.mu.Unlock()
	return func(yield func([]string) bool) {
		for len(owners) > 0 {
			n := min(most, len(owners))
			if !yield(owners[:n]) {
				return
			}
			owners = owners[n:]
		}
	}
}

func (h *heart) wake(name string, beaten script.Beaten) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	for _, owner := range beaten.Missing {
		if w := h.waiters[name][owner]; w != nil {
			w.LookAt(now)
		}
	}
	w := h.waiters[name][beaten.First]
	switch {
	case w == nil:
	case beaten.Free:
		w.LookAt(now)
	case beaten.TTL >= 0:
		w.LookAt(now.Add(beaten.TTL + time.Millisecond))
	}
}
