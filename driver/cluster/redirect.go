package cluster

import (
	"errors"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// redirection is what a server said about which other server has a slot.
type redirection struct {
	slot    int
	address string
	asking  bool // for this once: the slot is migrating
}

// redirected takes in what a node said about a slot. It is false for any other reply.
func (d *Driver) redirected(n *node, err error) (redirection, bool) {
	to, ok := parseRedirection(err, n.address)
	switch {
	case !ok:
	case to.asking:
		d.slotMigrates(to)
	default:
		d.slotMoved(n, to)
	}
	return to, ok
}

// migrationMemory is for how long a slot counts as migrating after that was seen.
const migrationMemory = 3 * time.Second

// migration is the move of a slot to a target, from the server that still has it.
type migration struct {
	target string // address
	until  time.Time
}

// slotMigrates takes note that a slot is migrating. Listeners then subscribe at its target as
// well.
func (d *Driver) slotMigrates(to redirection) {
	d.node(to.address).serving.Store(true)
	isNew := d.target(to.slot) != to.address
	d.migrations[to.slot].Store(&migration{to.address, time.Now().Add(migrationMemory)})
	if isNew {
		d.spawn(d.reroute)
	}
}

// target is the address that a slot is migrating to, empty for any other slot.
func (d *Driver) target(slot int) string {
	if m := d.migrations[slot].Load(); m != nil && time.Now().Before(m.until) {
		return m.target
	}
	return ""
}

// slotMoved takes note of which node has a slot. The whole slot map follows in the
// background: slots seldom move alone. If a server names its own address, the
// address leads to another server by now, and is connected to again.
func (d *Driver) slotMoved(from *node, to redirection) {
	if to.address == from.address {
		d.closeStale(from)
	}
	n := d.node(to.address)
	n.serving.Store(true)
	d.slots[to.slot].Store(n)
	d.refreshSoon(to.address)
}

// closeStale closes a node whose connection leads to the wrong server, unless it is new: its
// address may still lead there. The next call that needs the node makes another one.
func (d *Driver) closeStale(n *node) {
	if time.Now().Before(n.keptUntil) || !n.closeNow() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.life.Err() == nil {
		delete(d.nodes, n.address)
		d.work.Go(n.shut)
	}
}

// parseRedirection reads an error of the server at asked, such as
// "MOVED 3999 127.0.0.1:6381". It is false for any other.
func parseRedirection(err error, asked string) (redirection, bool) {
	refused, ok := errors.AsType[*driver.ServerError](err)
	if !ok {
		return redirection{}, false
	}
	words := strings.Fields(refused.Message)
	if len(words) < 3 || words[0] != "MOVED" && words[0] != "ASK" {
		return redirection{}, false
	}
	slot, err := strconv.Atoi(words[1])
	address, ok := parseAddress(words[2], asked)
	if err != nil || slot < 0 || slot >= driver.Slots || !ok {
		return redirection{}, false
	}
	return redirection{slot, address, words[0] == "ASK"}, true
}

// parseAddress reads host:port, where the host may be IPv6 without brackets.
func parseAddress(text, asked string) (address string, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 || colon == len(text)-1 {
		return "", false
	}
	return join(strings.Trim(text[:colon], "[]"), text[colon+1:], asked), true
}

// join makes an address of a host and a port. A server that does not know its own host,
// or may not tell it, means the host under which it was asked.
func join(host, port, asked string) string {
	if host == "" || host == "?" {
		if own, _, err := net.SplitHostPort(asked); err == nil {
			host = own
		}
	}
	return net.JoinHostPort(host, port)
}
