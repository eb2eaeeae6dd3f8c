package cluster

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// openMemory is for how long a slot counts as open after that was seen.
const openMemory = 3 * time.Second

// openSlots remembers the slots that are open: on their way from the server that has them
// to another one.
type openSlots struct {
	some  atomic.Bool // spares everybody the mutex while there are none
	mu    sync.Mutex
	slots map[int]openSlot
}

type openSlot struct {
	target string // address
	until  time.Time
}

// add takes note of an open slot, and says whether that is news.
func (o *openSlots) add(slot int, target string) (news bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.slots == nil {
		o.slots = make(map[int]openSlot)
	}
	news = o.slots[slot].target != target
	o.slots[slot] = openSlot{target, time.Now().Add(openMemory)}
	o.some.Store(true)
	return news
}

// target is the address of the server that an open slot is on its way to, empty of any
// other slot.
func (o *openSlots) target(slot int) string {
	if !o.some.Load() {
		return ""
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	found := o.slots[slot]
	if found.target != "" && time.Now().After(found.until) {
		delete(o.slots, slot)
		o.some.Store(len(o.slots) > 0)
		return ""
	}
	return found.target
}

func (o *openSlots) has(slot int) bool { return o.target(slot) != "" }

// opened takes note that a slot is open. Listeners then hear its target as well.
func (d *Driver) opened(to redirection) {
	d.node(to.address).serving.Store(true)
	if d.open.add(to.slot, to.address) {
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

// refuse leaves redirected commands to the caller, in a way that tells him what he may do.
func (d *Driver) refuse(n *node, replies []driver.Reply) {
	for i, reply := range replies {
		if _, elsewhere := d.redirected(n, reply.Err); elsewhere {
			text := "TRYAGAIN redirected: " + reply.Err.Error()
			replies[i] = driver.Reply{Err: &driver.ServerError{Message: text}}
		}
	}
}

// asking are commands for the target of an open slot. ASKING holds for one.
func asking(commands []driver.Command) []driver.Command {
	return append([]driver.Command{{Words: []string{"ASKING"}}}, commands...)
}

// follow says that the commands act upon the one before them on their connection, and on
// nothing else.
func follow(commands []driver.Command) bool {
	for _, command := range commands {
		if name := command.Words[0]; !strings.EqualFold(name, "WAIT") && !strings.EqualFold(name, "WAITAOF") {
			return false
		}
	}
	return true
}
