package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/signal"
)

const (
	// checkEvery is the pause between two checks of the topology loop.
	checkEvery = 250 * time.Millisecond
	// refreshPause is the least time between two requests for the slot map. It doubles with
	// each, up to call.LastPause, and begins again after a calm time.
	refreshPause = 200 * time.Millisecond
	calm         = 4 * call.LastPause
	// silentChecks is how many checks in a row make a silence. idleChecks is how many a
	// node without slots is kept without calls.
	silentChecks = 2
	idleChecks   = int(10 * time.Second / checkEvery)
)

// keepTopology is the topology loop: it asks for the slot map when that is wanted, and checks
// the nodes.
func (d *Driver) keepTopology() {
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	var last time.Time
	backoff := pause.Backoff{First: refreshPause, Max: call.LastPause}
	var wait time.Duration
	wanted := false
	for d.life.Err() == nil {
		ticked := false
		select {
		case <-d.refreshWanted:
			wanted = true
		case <-tick.C:
			ticked = true
		case <-d.life.Done():
			return
		}
		select { // both may have come
		case <-d.refreshWanted:
			wanted = true
		case <-tick.C:
			ticked = true
		default:
		}
		if ticked {
			wanted = d.checkNodes() || wanted
		}
		if since := time.Since(last); wanted && since >= wait {
			if wanted, last = false, time.Now(); since > calm {
				backoff.Reset()
			}
			// It need not be repeated after a failure: a call that needs the slot map
			// will ask for it again.
			d.refresh(d.life)
			wait = backoff.Next()
			d.reroute()
		}
	}
}

// checkNodes says whether a node with slots owes answers and gives none. It closes nodes
// without slots: silent ones at once, because the calls there can go elsewhere, and others
// after they have been idle.
func (d *Driver) checkNodes() (silence bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for address, n := range d.nodes {
		n.check()
		silent := n.silence >= silentChecks
		switch {
		case silent && n.serving.Load():
			silence = true
		case n.serving.Load():
		case silent && n.closeNow(), n.idle >= idleChecks && n.closeIdle():
			delete(d.nodes, address)
			d.work.Go(n.shut)
		}
	}
	return silence
}

// refreshSoon has the topology loop ask for the slot map, the server at hint first if there is
// one.
func (d *Driver) refreshSoon(hint string) {
	if hint != "" {
		d.mu.Lock()
		d.hint = hint
		d.mu.Unlock()
	}
	signal.Send(d.refreshWanted)
}

// noteReply takes in what a node answered: any reply, even a refusal, is a sign of life.
func (d *Driver) noteReply(ctx context.Context, n *node, err error) {
	refused, ok := errors.AsType[*driver.ServerError](err)
	switch {
	case err == nil:
		n.answers.Add(1)
	case ok && !errors.Is(err, driver.ErrNoConnection):
		n.answers.Add(1)
		if refused.Code() == "CLUSTERDOWN" {
			d.refreshSoon("")
		}
	case ctx.Err() == nil || errors.Is(err, driver.ErrNoConnection):
		d.refreshSoon("") // there is no connection, it broke, or the server was too slow
	}
}

// reroute has the listeners follow the slot map.
func (d *Driver) reroute() {
	d.mu.Lock()
	listeners := slices.Collect(maps.Keys(d.listeners))
	d.mu.Unlock()
	for _, l := range listeners {
		l.reroute()
	}
}
