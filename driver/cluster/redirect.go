package cluster

import "time"

// openMemory is for how long a slot counts as open after that was seen.
const openMemory = 3 * time.Second

// openSlot is on its way to a target, from the server that has it as yet.
type openSlot struct {
	target string // address
	until  time.Time
}

// target is the address that an open slot is on its way to, empty of any other slot.
func (d *Driver) target(slot int) string {
	if o := d.open[slot].Load(); o != nil && time.Now().Before(o.until) {
		return o.target
	}
	return ""
}

// opened takes note that a slot is open. Listeners then hear its target as well.
func (d *Driver) opened(to redirection) {
	d.node(to.address).serving.Store(true)
	news := d.target(to.slot) != to.address
	d.open[to.slot].Store(&openSlot{to.address, time.Now().Add(openMemory)})
	if news {
		d.spawn(d.reroute)
	}
}

// moved takes note of who has a slot. The whole map follows in the background: slots
// seldom move alone. A server that names its own address is another one than the address
// leads to by now, and is connected to anew.
func (d *Driver) moved(from *node, to redirection) {
	if to.address == from.address {
		d.renew(from)
	}
	n := d.node(to.address)
	n.serving.Store(true)
	d.slots[to.slot].Store(n)
	d.refreshSoon(to.address)
}

// renew closes a node whose connection leads to the wrong server, unless it is new: its
// address may lead there still. Whoever needs the node next makes another one.
func (d *Driver) renew(n *node) {
	if time.Since(n.born) < n.lasting || !n.closeNow() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		delete(d.nodes, n.address)
		d.work.Go(n.shut)
	}
}

// redirected takes in what a node said of a slot. It is false for any other reply.
func (d *Driver) redirected(n *node, err error) (redirection, bool) {
	to, ok := parseRedirection(err, n.address)
	switch {
	case !ok:
	case to.asking:
		d.opened(to)
	default:
		d.moved(n, to)
	}
	return to, ok
}
