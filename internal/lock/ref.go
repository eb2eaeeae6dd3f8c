package lock

import (
	"cmp"
	"fmt"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Ref refers to a lock by its name and mode. It holds no state: any number of them may refer to
// one lock.
type Ref struct {
	Name string // as the user has it
	Lock string // its key in Redis: the prefix and the name
	Err  error  // why the name cannot be used; nil if it can

	manager *Manager
	mutex   script.Mutex // its key and channel; x and {x} share a channel
	mode    script.Mode  // nil for a plain mutex, which needs no memory of its own then
	queue   string       // the key of its local wait queue (waitqueue.Key)
	key     Key
	read    bool // the read side of a read-write lock
	permits bool // one permit of a semaphore, not a lock: others may have permits too
	fair    bool // waiters stand in a queue in Redis, which they have to leave
}

// Key identifies a lock, whichever side of it is meant. A context is asked by the address of
// one, which takes no memory.
type Key struct {
	manager *Manager
	lock    lockID
}

// lockID is a lock among those of one manager. A mutex and a fair mutex of one name are one lock.
type lockID struct {
	name    string
	rw      bool
	permits bool
}

// Mutex refers to a mutex.
func (m *Manager) Mutex(name string) Ref {
	return m.ref(name, script.NewMutex(m.Prefix+name, m.Messages))
}

// FairMutex refers to a fair mutex.
func (m *Manager) FairMutex(name string) Ref {
	fair := script.NewFair(m.Prefix+name, m.FairWait, m.Messages)
	r := m.ref(name, fair.Mutex)
	r.mode, r.fair = fair, true
	r.Err = cmp.Or(r.Err, m.CheckUnbraced(name))
	return r
}

// RWMutex refers to both sides of a read-write lock.
func (m *Manager) RWMutex(name string) (read, write Ref) {
	rw := script.NewRW(m.Prefix+name, m.Messages)
	write = m.ref(name, rw.Mutex)
	write.mode, write.key.lock.rw = rw, true
	read = write
	read.read = true
	return read, write
}

// Permits refers to a semaphore with leased permits. Each acquisition takes one permit.
func (m *Manager) Permits(name string) Ref {
	permits := script.NewPermits(m.Prefix+name, m.Messages)
	r := m.ref(name, script.Mutex{Lock: permits.Key, Channel: permits.Channel})
	r.mode, r.permits, r.key.lock.permits = permits, true, true
	r.queue = PermitQueue(permits)
	r.Err = cmp.Or(r.Err, m.CheckUnbraced(name))
	return r
}

// CheckUnbraced refuses the name {x} for what has keys beside its own, or is nil: those are the keys of x, so
// each would take the waiters, or the permits, of the other for its own.
func (m *Manager) CheckUnbraced(name string) error {
	key := m.Key(name)
	if inner := protocol.Unbraced(key); inner != key {
		return fmt.Errorf("redlatch: %w: the name %q has the same keys beside it as %q: leave the braces out", lockerr.ErrInvalidName, key, inner)
	}
	return nil
}

// PermitQueue is the key of the local wait queue for permits. An ownerless semaphore of the same name
// has the same channel, and a queue of its own.
func PermitQueue(p script.Permits) string { return waitqueue.Key(p.Channel, p.Key) + ":permits" }

// ref refers to a lock as a mutex.
func (m *Manager) ref(name string, as script.Mutex) Ref {
	r := Ref{
		Name:    name,
		Lock:    as.Lock,
		manager: m,
		mutex:   as,
		queue:   waitqueue.Key(as.Channel, as.Lock),
		key:     Key{m, lockID{name: as.Lock}},
	}
	if m.sharded == nil {
		r.Err = m.CheckName(name)
	} else { // all keys that derive from the name derive by one of these two rules
		r.Err = m.CheckName(name, as.Channel, protocol.ReadTimeoutKey(as.Lock, "", 1))
	}
	return r
}

// Calls builds the calls for the lock.
func (r *Ref) Calls() script.Mode {
	if r.mode == nil {
		return &r.mutex
	}
	return r.mode
}

// Usable says why the lock cannot be used, or nil: nobody made it, or its name is wrong.
func (r *Ref) Usable() error {
	if r.manager == nil {
		return lockerr.ErrUnmade
	}
	return r.Err
}

// RefOf returns the reference of a single lock of package redlatch, or nil. That package sets it, for packages above
// it that need more of a lock than users do.
var RefOf func(lock any) *Ref

// Manager is the one whose lock it is, nil for the zero value.
func (r *Ref) Manager() *Manager { return r.manager }

// Key identifies the lock.
func (r *Ref) Key() *Key { return &r.key }

// ReadWrite says that it is a side of a read-write lock.
func (r *Ref) ReadWrite() bool { return r.key.lock.rw }

// Look makes the holders of the lock in this process ask Redis whether they still have it.
func (r *Ref) Look() { r.manager.holders.look(r.key.lock) }

// Read says that it is the read side of a read-write lock, which has several holders.
func (r *Ref) Read() bool { return r.read }

// CheckName says why a name cannot be used, or nil. In a cluster the names of keys and channels that
// derive from it must be in its slot.
func (m *Manager) CheckName(name string, derived ...string) error {
	if err := m.checkName(name, m.Prefix+name, derived); err != nil {
		return fmt.Errorf("redlatch: %w: %w", lockerr.ErrInvalidName, err)
	}
	return nil
}

func (m *Manager) checkName(name, key string, derived []string) error {
	if err := protocol.CheckName(name); err != nil {
		return err
	}
	if err := protocol.CheckName(key); err != nil {
		return fmt.Errorf("behind its prefix, %w", err)
	}
	return m.checkSlots(key, derived...)
}

func (m *Manager) checkSlots(key string, derived ...string) error {
	if m.sharded == nil {
		return nil
	}
	slot := driver.Slot(key)
	for _, derived := range derived {
		if driver.Slot(derived) != slot {
			return fmt.Errorf("the name %q is in slot %d of the cluster, and its key %q in slot %d: "+
				"what stands between the first { and the next } decides, and Redisson adds braces to a name without {; "+
				"leave braces out of the name, or put a part of it between { and }", key, slot, derived, driver.Slot(derived))
		}
	}
	return nil
}

// Readable says why a lock cannot be read or freed, or nil. It allows names that other implementations lock and this one
// does not.
func (r *Ref) Readable() error {
	m, wrong := r.manager, r.Usable()
	if m == nil || wrong == nil || r.Name == "" || m.checkSlots(r.Lock, r.mutex.Channel, protocol.ReadTimeoutKey(r.Lock, "", 1)) != nil {
		return wrong
	}
	if r.fair {
		return m.CheckUnbraced(r.Name)
	}
	return nil
}
