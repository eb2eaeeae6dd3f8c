package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/redlatch/redlatch/driver"
)

const (
	// lookEvery is the keeper's rhythm.
	lookEvery = 250 * time.Millisecond
	// refreshEvery is the least time between two requests for the map.
	refreshEvery = 200 * time.Millisecond
	// silentLooks is how many looks in a row make a silence, and idleLooks what is a
	// while for a server that has no slots.
	silentLooks = 2
	idleLooks   = int(10 * time.Second / lookEvery)
)

// keep asks for the map when somebody wants it, and looks after the nodes.
func (d *Driver) keep() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var last time.Time
	wanted := false
	for d.life.Err() == nil {
		select {
		case <-d.kick:
			wanted = true
		case <-tick.C:
			wanted = d.look() || wanted
		case <-d.life.Done():
			return
		}
		if wanted && time.Since(last) >= refreshEvery {
			wanted, last = false, time.Now()
			// It need not be repeated after a failure: whoever cannot do without
			// the map will ask for it again.
			d.refresh(d.life)
			d.reroute()
		}
	}
}

// refreshSoon has the keeper ask for the map, the server at hint first if there is one.
func (d *Driver) refreshSoon(hint string) {
	if hint != "" {
		d.mu.Lock()
		d.hint = hint
		d.mu.Unlock()
	}
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// note takes in what a node answered: any reply, even a refusal, is a sign of life.
func (d *Driver) note(ctx context.Context, n *node, err error) {
	var refused *driver.ServerError
	switch {
	case err == nil:
		n.heard.Add(1)
	case errors.Is(err, driver.ErrNoConnection):
		d.refreshSoon("")
	case errors.As(err, &refused):
		n.heard.Add(1)
		if refused.Code() == "CLUSTERDOWN" {
			d.refreshSoon("")
		}
	case ctx.Err() == nil:
		d.refreshSoon("") // the connection broke, or the server was too slow
	}
}

// look goes through the nodes, and says whether one of them owes answers and gives none.
// Nodes without slots are let go: when they are silent, for then their calls have better
// places to be, and when they have been idle for a while.
func (d *Driver) look() (doubtful bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for address, n := range d.nodes {
		n.look()
		silent := n.silence >= silentLooks
		switch {
		case silent && n.serving.Load():
			doubtful = true
		case n.serving.Load():
		case silent && n.closeNow(), n.peace >= idleLooks && n.closeIdle():
			delete(d.nodes, address)
			d.work.Go(n.shut)
		}
	}
	return doubtful
}

// reroute has the listeners follow the map.
func (d *Driver) reroute() {
	d.mu.Lock()
	listeners := make([]*listener, 0, len(d.listeners))
	for l := range d.listeners {
		listeners = append(listeners, l)
	}
	d.mu.Unlock()
	for _, l := range listeners {
		l.reroute()
	}
}
