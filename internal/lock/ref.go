package lock

import (
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
	Name string
	Err  error // why the name cannot be used; nil if it can

	manager *Manager
	mode    script.Mode
	channel string // on which the lock's release is announced; x and {x} share one
	queue   string // the key of its local wait queue (waitqueue.Key)
	key     Key
	read    bool // the read side of a read-write lock
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
	name string
	rw   bool
}

// Mutex refers to a mutex.
func (m *Manager) Mutex(name string) Ref {
	return m.ref(script.NewMutex(name, m.settings.Messages))
}

// FairMutex refers to a fair mutex.
func (m *Manager) FairMutex(name string) Ref {
	fair := script.NewFair(name, m.settings.FairWait, m.settings.Messages)
	r := m.ref(fair.Mutex)
	r.mode, r.fair = fair, true
	return r
}

// RWMutex refers to both sides of a read-write lock.
func (m *Manager) RWMutex(name string) (read, write Ref) {
	rw := script.NewRW(name, m.settings.Messages)
	write = m.ref(rw.Mutex)
	write.mode, write.key.lock.rw = rw, true
	read = write
	read.read = true
	return read, write
}

// ref refers to a lock as a mutex.
func (m *Manager) ref(as script.Mutex) Ref {
	r := Ref{
		Name:    as.Lock,
		manager: m,
		mode:    as,
		channel: as.Channel,
		queue:   waitqueue.Key(as.Channel, as.Lock),
		key:     Key{m, lockID{name: as.Lock}},
	}
	if err := m.checkName(as.Lock); err != nil {
		r.Err = fmt.Errorf("redlatch: %w: %w", lockerr.ErrInvalidName, err)
	}
	return r
}

// Manager is the one whose lock it is, nil for the zero value.
func (r *Ref) Manager() *Manager { return r.manager }

// Key identifies the lock.
func (r *Ref) Key() *Key { return &r.key }

// checkName says why no lock can have that name, or nil.
func (m *Manager) checkName(name string) error {
	if err := protocol.CheckName(name); err != nil {
		return err
	}
	if m.sharded == nil {
		return nil
	}
	// All names that derive from it derive by one of these two rules.
	slot := driver.Slot(name)
	for _, derived := range []string{protocol.LockChannel(name), protocol.ReadTimeoutKey(name, "", 1)} {
		if driver.Slot(derived) != slot {
			return fmt.Errorf("the name %q is in slot %d of the cluster, and its key %q in slot %d: "+
				"what stands between the first { and the next } decides, and Redisson adds braces to a name without {; "+
				"leave braces out of the name, or put a part of it between { and }", name, slot, derived, driver.Slot(derived))
		}
	}
	return nil
}
