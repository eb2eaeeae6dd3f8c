package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
)

const (
	// lookEvery is the keeper's rhythm.
	lookEvery = 250 * time.Millisecond
	// refreshPause is the least time between two requests for the map. It doubles with
	// each, up to lastPause, and begins anew after a calm time.
	refreshPause = 200 * time.Millisecond
	calm         = 4 * lastPause
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
	pause, wait := refreshPause, refreshPause
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
		if since := time.Since(last); wanted && since >= wait {
			if wanted, last = false, time.Now(); since > calm {
				pause = refreshPause
			}
			// It need not be repeated after a failure: whoever cannot do without
			// the map will ask for it again.
			d.refresh(d.life)
			wait, pause = jittered(pause), min(2*pause, lastPause)
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
	case errors.As(err, &refused) && !errors.Is(err, driver.ErrNoConnection):
		n.heard.Add(1)
		if refused.Code() == "CLUSTERDOWN" {
			d.refreshSoon("")
		}
	case ctx.Err() == nil || errors.Is(err, driver.ErrNoConnection):
		d.refreshSoon("") // there is no connection, it broke, or the server was too slow
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
	listeners := slices.Collect(maps.Keys(d.listeners))
	d.mu.Unlock()
	for _, l := range listeners {
		l.reroute()
	}
}
