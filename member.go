package redlatch

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// member is one of the single locks that a Multi or a Quorum is made of.
type member struct {
	client *Client
	point  *point
	slot   int
}

// memberOf is the member that a lock becomes; false if it is no single lock.
func memberOf(l Lock) (member, bool) {
	var m member
	switch l := l.(type) {
	case *Mutex:
		m.client, m.point = l.client, &l.point
	case *FairMutex:
		m.client, m.point = l.client, &l.point
	case *RWMutex:
		m.client, m.point = l.client, &l.write
	case readLocker:
		m.client, m.point = l.m.client, &l.m.read
	default:
		return m, false
	}
	m.slot = driver.Slot(m.point.name)
	return m, true
}

// before is the order in which members are taken: by server, database, slot and name. It depends on
// nothing but what other processes see as well, so that all take the same way.
func (m member) before(other member) int {
	return cmp.Or(
		strings.Compare(m.client.server, other.client.server),
		cmp.Compare(m.client.database, other.client.database),
		cmp.Compare(m.slot, other.slot),
		strings.Compare(m.point.name, other.point.name),
	)
}

// sameServer says that two members are known to be on one server.
func (m member) sameServer(other member) bool {
	a, b := m.client, other.client
	return a == b || a.server != "" && a.server == b.server ||
		reflect.ValueOf(a.driver).Comparable() && a.driver == b.driver
}

// sameKey says that two members stand under one key in Redis, whatever their kinds: they
// would wait for each other.
func (m member) sameKey(other member) bool {
	return m.sameServer(other) && m.client.database == other.client.database && m.point.name == other.point.name
}

// together says that one script can take both members.
func (m member) together(other member) bool {
	return m.client == other.client && (m.client.sharded == nil || m.slot == other.slot)
}

// whole is what a Multi or a Quorum is made of.
type whole struct {
	parts []member // in the order in which they are taken
	err   error    // why there can be none
}

// take makes members of locks. Those that cannot be told apart keep the order they have. A Multi
// takes over the members of another.
func (w *whole) take(maker string, locks []Lock) {
	for _, l := range locks {
		inner, isMulti := l.(*Multi)
		part, single := memberOf(l)
		switch {
		case isMulti && maker == "NewMulti":
			w.parts, w.err = append(w.parts, inner.parts...), cmp.Or(w.err, inner.err)
		case single:
			w.parts = append(w.parts, part)
		default:
			w.err = cmp.Or(w.err, refuse(maker, "a %T is no single lock", l))
		}
	}
	if len(w.parts) == 0 {
		w.err = cmp.Or(w.err, refuse(maker, "there is no lock to take"))
	}
	slices.SortStableFunc(w.parts, member.before)
}

// names are those of the members.
func (w *whole) names() []string {
	var names []string
	for _, m := range w.parts {
		names = append(names, m.point.name)
	}
	return names
}

// clash finds two members for which same holds.
func clash(members []member, same func(member, member) bool) (a, b member, found bool) {
	for i, a := range members {
		for _, b := range members[:i] {
			if same(b, a) {
				return b, a, true
			}
		}
	}
	return a, b, false
}

// where names a member's server.
func (m member) where() string {
	if m.client.server == "" {
		return "one connection"
	}
	return m.client.server
}

// refusal is ErrNotAcquired, with the answer of a server if there was one.
type refusal struct {
	error
	answer answer
}

func (r refusal) Unwrap() error { return r.error }

// refuse is the error of a whole that cannot be made of these locks.
func refuse(maker, format string, args ...any) error {
	return &ConfigError{Field: maker, Reason: fmt.Sprintf(format, args...)}
}
