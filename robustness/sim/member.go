package sim

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// member is what one server of a Cluster knows of the slots.
type member struct {
	all       []*redis
	owners    [driver.Slots]uint8 // by slot, the index of its server
	epoch     int
	migrating map[int]*redis // its own slots, and where they go
	importing map[int]*redis // slots that come, and from where
}

// found makes servers a Cluster. The last one has no slots: it is there to take over.
func found(all []*redis) {
	for _, s := range all {
		s.member = &member{all: all, epoch: 1, migrating: map[int]*redis{}, importing: map[int]*redis{}}
		for slot := range s.member.owners {
			s.member.owners[slot] = uint8(slot * (len(all) - 1) / driver.Slots)
		}
	}
}

// owner is the server that has a slot, as far as this one knows.
func (m *member) owner(slot int) *redis { return m.all[m.owners[slot]] }

// idle says that no slot comes or goes.
func (m *member) idle() bool { return len(m.migrating)+len(m.importing) == 0 }

// address is where clients reach a server of a Cluster.
func (s *redis) address() string { return s.name + ":1" }

// learn tells a server that a slot belongs to another one, or to itself. It ends the subscriptions
// of a slot that it had.
func (s *redis) learn(slot int, owner *redis, epoch int) {
	m := s.member
	if had := m.owner(slot) == s; had && owner != s {
		delete(m.migrating, slot)
		for _, c := range s.conns {
			for _, channel := range slices.Clone(c.shards) {
				if driver.Slot(channel) == slot {
					c.shards = slices.DeleteFunc(c.shards, func(other string) bool { return other == channel })
					c.listener.tell("evicted "+channel, func() { c.listener.events.Evicted(channel) })
				}
			}
		}
	}
	if owner == s {
		delete(m.importing, slot)
	}
	m.owners[slot] = uint8(slices.Index(m.all, owner))
	m.epoch = max(m.epoch, epoch)
}

// redirect is how a server refuses a command whose keys it does not have, and empty otherwise.
// asking says that ASKING stood before the command.
func (s *redis) redirect(words []string, asking bool) string {
	keys := keysOf(words)
	if s.member == nil || len(keys) == 0 {
		return ""
	}
	slot, missing := driver.Slot(keys[0]), 0
	for _, key := range keys {
		if driver.Slot(key) != slot {
			return "CROSSSLOT Keys in request don't hash to the same slot"
		}
		if !s.mini.Exists(key) {
			missing++
		}
	}
	owner, to := s.member.owner(slot), s.member.migrating[slot]
	switch {
	case owner == s && (to == nil || missing == 0):
		return ""
	case owner == s && missing == len(keys):
		return fmt.Sprintf("ASK %d %s", slot, to.address())
	case owner != s && (!asking || s.member.importing[slot] == nil):
		return fmt.Sprintf("MOVED %d %s", slot, owner.address())
	case missing == 0 || owner != s && len(keys) == 1:
		return ""
	}
	return "TRYAGAIN Multiple keys request during rehashing of slot"
}

// elsewhere says that a script must not use the keys of a command: the slot is migrating, and one of
// them may be on the other server. A script that came behind ASKING may use a single missing key.
func (s *redis) elsewhere(command string, words []string) bool {
	if s.member == nil || len(words) == 0 || keyless[command] {
		return false
	}
	slot, keys := driver.Slot(words[0]), words[:1]
	if command == "EXISTS" || command == "DEL" || command == "UNLINK" {
		keys = words
	}
	missing := slices.ContainsFunc(keys, func(key string) bool { return !s.mini.Exists(key) })
	return missing && (s.member.migrating[slot] != nil || s.member.importing[slot] != nil && len(keys) > 1)
}

// keyless are the commands of scripts without a key.
var keyless = map[string]bool{"PUBLISH": true, "SPUBLISH": true, "TIME": true, "MEMORY": true, "PUBSUB": true, "INFO": true, "PING": true}

// keysOf are the different keys of a command.
func keysOf(words []string) (keys []string) {
	switch words[0] {
	case "INFO", "PUBSUB", "CLUSTER", "WAIT", "TIME", "ASKING":
	case "EVAL", "EVALSHA":
		n, _ := strconv.Atoi(words[2])
		keys = slices.Clone(words[3 : 3+n])
	default:
		keys = slices.Clone(words[1:2])
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// describeCluster answers CLUSTER INFO, SLOTS and NODES.
func (s *redis) describeCluster(about string) driver.Reply {
	switch about {
	case "INFO":
		return driver.Reply{Str: fmt.Sprintf("cluster_state:ok\r\ncluster_current_epoch:%d\r\n", s.member.epoch)}
	case "NODES":
		return driver.Reply{Str: s.nodes()}
	}
	var spans []driver.Reply
	for first := 0; first < driver.Slots; {
		last := first
		for last+1 < driver.Slots && s.member.owners[last+1] == s.member.owners[first] {
			last++
		}
		owner := s.member.owner(first).name
		spans = append(spans, driver.Reply{Array: []driver.Reply{
			{Int: int64(first)}, {Int: int64(last)}, {Array: []driver.Reply{{Str: owner}, {Int: 1}, {Str: owner}}},
		}})
		first = last + 1
	}
	return driver.Reply{Array: spans}
}

// nodes answers CLUSTER NODES: a line for each server, and the slots that leave this one.
func (s *redis) nodes() string {
	var b strings.Builder
	for _, other := range s.member.all {
		flags := "master"
		if other == s {
			flags = "myself,master"
		}
		fmt.Fprintf(&b, "%s %s@2 %s - 0 0 %d connected", other.name, other.address(), flags, s.member.epoch)
		if other == s {
			for _, slot := range slices.Sorted(maps.Keys(s.member.migrating)) {
				fmt.Fprintf(&b, " [%d->-%s]", slot, s.member.migrating[slot].name)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}
