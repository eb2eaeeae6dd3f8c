package multilock

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
)

// Server is what members of one client share: where their locks are, and what is known of that
// server.
type Server struct {
	Locks    *lock.Manager
	Driver   driver.Driver
	Address  string // what the client connected to; "" if that tells servers apart from nothing
	Database int
	Restart  Restart

	run     atomic.Pointer[run]
	quorums sync.Map // of which it is a part now, by *group
}

// Member is one of the single locks that a Multi or a Quorum is made of.
type Member struct {
	*Server
	Ref  *lock.Ref
	Slot int
}

// before is the order in which members are taken: by server, database, slot and name. It depends
// on nothing but what other processes see as well, so that all take the same way.
func (m Member) before(other Member) int {
	return cmp.Or(
		strings.Compare(m.Address, other.Address),
		cmp.Compare(m.Database, other.Database),
		cmp.Compare(m.Slot, other.Slot),
		strings.Compare(m.Ref.Lock, other.Ref.Lock),
	)
}

// sameKey says that two members have one key in Redis, whatever their modes: they would wait for
// each other.
func (m Member) sameKey(other Member) bool {
	return m.Ref.Lock == other.Ref.Lock && (m.sameDriver(other) || m.sameServer(other) && m.Database == other.Database)
}

// sameServer says that two members are known to be on one server.
func (m Member) sameServer(other Member) bool {
	return m.sameDriver(other) || m.Address != "" && m.Address == other.Address
}

// sameDriver says that two members are known to be in one database of one server: a driver reaches no other. A client
// that New made knows neither address nor database.
func (m Member) sameDriver(other Member) bool {
	return m.Server == other.Server || reflect.ValueOf(m.Driver).Comparable() && m.Driver == other.Driver
}

// together says that one script can take both members.
func (m Member) together(other Member) bool {
	return m.Server == other.Server && (!m.Locks.Sharded() || m.Slot == other.Slot)
}

// where names a member's server.
func (m Member) where() string {
	if m.Address == "" {
		return "one connection"
	}
	return m.Address
}

// at says on which server an error happened, if the server has a name.
func (m Member) at(err error) error {
	if m.Address == "" || err == nil {
		return err
	}
	return fmt.Errorf("%s: %w", m.Address, err)
}
