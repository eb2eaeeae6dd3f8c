package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
)

// Master is the server that has the slot of key, as far as anybody who answers knows.
// Where two servers think that they have it, as for a moment after a failover, it is the
// one with the higher epoch. It fails the test if there is none.
func (c *Cluster) Master(t testing.TB, key string) *Server {
	t.Helper()
	master := c.master(driver.Slot(key))
	if master == nil {
		t.Fatalf("no server has slot %d", driver.Slot(key))
	}
	return master
}

// Replica is a server that follows the master of key.
func (c *Cluster) Replica(t testing.TB, key string) *Server {
	t.Helper()
	master := c.Master(t, key)
	for _, s := range c.Servers {
		if s.follows(master) {
			return s
		}
	}
	t.Fatalf("%s has no replica", master.Addr())
	return nil
}

// AwaitNewMaster waits until another server than old has the slot of key.
func (c *Cluster) AwaitNewMaster(t testing.TB, key string, old *Server) *Server {
	t.Helper()
	var master *Server
	Eventually(t, settleWithin, func() bool {
		master = c.master(driver.Slot(key))
		return master != nil && master != old
	}, "another server has the slot of "+key)
	return master
}

// KeyAt returns a key that no other test uses, in one of the slots of a server.
func (c *Cluster) KeyAt(t testing.TB, s *Server) string {
	t.Helper()
	for range 10_000 {
		if key := Name(t); c.master(driver.Slot(key)) == s {
			return key
		}
	}
	t.Fatalf("%s has no slots", s.Addr())
	return ""
}

// MoveSlot moves the slot of key to another master, with its keys and while clients use
// them. Between is called, if it is not nil, when both servers are ready and no key has
// been moved: until then the slot is with both.
func (c *Cluster) MoveSlot(t testing.TB, key string, to *Server, between func()) {
	t.Helper()
	from, slot := c.Master(t, key), strconv.Itoa(driver.Slot(key))
	fromID, toID := from.CLI(t, "CLUSTER", "MYID").(string), to.CLI(t, "CLUSTER", "MYID").(string)
	to.must(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.must(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	if between != nil {
		between()
	}
	for {
		keys := from.CLI(t, "CLUSTER", "GETKEYSINSLOT", slot, "10").([]any)
		for _, k := range keys {
			// NOKEY is fine: it has expired or was deleted meanwhile.
			moved := from.CLI(t, "MIGRATE", "127.0.0.1", strconv.Itoa(to.port), k.(string), "0", "5000")
			if moved != "OK" && moved != "NOKEY" {
				t.Fatalf("move %v: %v", k, moved)
			}
		}
		if len(keys) == 0 {
			break
		}
	}
	to.must(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	from.must(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	// A further move before the epochs have gone round may have both servers give the
	// slot to each other, for good.
	Eventually(t, settleWithin, c.agreed, "the servers agree on who has which slot")
}

// MoveSlotAtomically moves the slot of key to another master at once, while clients use its keys. It skips the
// test if the servers cannot do that: it takes Valkey 9.
func (c *Cluster) MoveSlotAtomically(t testing.TB, key string, to *Server) {
	t.Helper()
	from, slot := c.Master(t, key), strconv.Itoa(driver.Slot(key))
	id := to.CLI(t, "CLUSTER", "MYID").(string)
	if said := from.CLI(t, "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", id); said != "OK" {
		t.Skip(said)
	}
	Eventually(t, settleWithin, func() bool { return c.master(driver.Slot(key)) == to && c.agreed() }, "the slot has moved")
}

// agreed says whether all servers that answer have the same view of every master: its
// epoch and its slots.
func (c *Cluster) agreed() bool {
	views := map[string]bool{}
	for _, s := range c.Servers {
		if s.process == nil || s.frozen {
			continue
		}
		masters, err := s.masters()
		if err != nil {
			return false
		}
		var view []string
		for _, words := range masters {
			view = append(view, fmt.Sprint(words[0], words[6], words[8:]))
		}
		slices.Sort(view)
		views[fmt.Sprint(view)] = true
	}
	return len(views) < 2
}

// masters are the lines of CLUSTER NODES about masters, in words: id address flags master
// ping pong epoch link slots...
func (s *Server) masters() (all [][]string, err error) {
	nodes, err := s.say("CLUSTER", "NODES")
	for line := range strings.Lines(nodes) {
		if words := strings.Fields(line); len(words) >= 8 && strings.Contains(words[2], "master") {
			all = append(all, words)
		}
	}
	return all, err
}

// FailOver has the replica of the master of key take over in an orderly way, and waits
// until it has. It returns the new master.
func (c *Cluster) FailOver(t testing.TB, key string) *Server {
	t.Helper()
	old := c.Master(t, key)
	c.Replica(t, key).must(t, "CLUSTER", "FAILOVER")
	return c.AwaitNewMaster(t, key, old)
}

// master asks every server whether it has a slot. Those that are frozen or dead are
// passed over.
func (c *Cluster) master(slot int) (master *Server) {
	var best int64
	for _, s := range c.Servers {
		if epoch, ok := s.owns(slot); ok && (master == nil || epoch > best) {
			master, best = s, epoch
		}
	}
	return master
}

// follows says whether s is in sync with a master.
func (s *Server) follows(master *Server) bool {
	if s.process == nil || s.frozen {
		return false
	}
	info, err := s.say("INFO", "replication")
	return err == nil && strings.Contains(info, "role:slave") &&
		strings.Contains(info, "master_port:"+strconv.Itoa(master.port)) &&
		strings.Contains(info, "master_link_status:up")
}

// owns says whether s thinks that it is the master of a slot, and since which epoch.
func (s *Server) owns(slot int) (epoch int64, yes bool) {
	if s.process == nil || s.frozen {
		return 0, false
	}
	masters, _ := s.masters() // none of a server that does not answer
	for _, words := range masters {
		if strings.Contains(words[2], "myself") {
			epoch, _ = strconv.ParseInt(words[6], 10, 64)
			return epoch, slices.ContainsFunc(words[8:], func(span string) bool { return covers(span, slot) })
		}
	}
	return 0, false
}

// covers says whether a word of CLUSTER NODES, "7" or "0-5460", has a slot. Slots that
// are on their way stand there in brackets, and are not asked about.
func covers(span string, slot int) bool {
	first, last, several := strings.Cut(span, "-")
	if !several {
		last = first
	}
	low, err := strconv.Atoi(first)
	high, wrong := strconv.Atoi(last)
	return err == nil && wrong == nil && low <= slot && slot <= high
}
