package cluster

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// searchEvery is how often the servers that are listened to are asked for open slots,
// up to half sooner at random. What is published in the shard of an open slot's target
// does not arrive at the server that still has the slot.
const searchEvery = time.Second

// findOpenSlots asks the servers that are listened to, side by side, if it is time to.
// Only the keeper calls it.
func (d *Driver) findOpenSlots() {
	if !d.shardMessages || time.Now().Before(d.searchAt) {
		return
	}
	d.searchAt = time.Now().Add(jittered(searchEvery) - lookEvery/2)
	for n := range d.listenedTo() {
		if n.searching.CompareAndSwap(false, true) {
			d.spawn(func() {
				defer n.searching.Store(false)
				d.findOpenSlotsOf(n)
			})
		}
	}
}

// listenedTo are the nodes at which somebody listens to something.
func (d *Driver) listenedTo() map[*node]bool {
	nodes := make(map[*node]bool)
	for _, l := range d.openListeners() {
		l.mu.Lock()
		for n, e := range l.ears {
			if len(e.subscriptions) > 0 {
				nodes[n] = true
			}
		}
		l.mu.Unlock()
	}
	return nodes
}

func (d *Driver) findOpenSlotsOf(n *node) {
	s := n.server.Load()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(d.life, searchEvery)
	defer cancel()
	reply := s.Do(ctx, driver.Command{Words: []string{"CLUSTER", "NODES"}})
	for _, to := range parseOpenSlots(reply.Str, n.address) {
		d.opened(to)
	}
}
