package session

import (
	"sync"

	"github.com/redlatch/redlatch/internal/script"
)

// registry is what the session in Redis is to say, and which keys of it Redis has not confirmed.
type registry struct {
	mu          sync.Mutex
	entries     map[string]entry
	unconfirmed map[string]struct{} // the keys of which Redis may say something else
	anew        bool                // Redis is told nothing: the whole session is to be written anew
	version     int                 // counts the changes
}

type entry struct {
	script.SessionEntry      // Until is by the local clock here
	version             int  // from 1
	told                bool // Redis may have it, or an earlier one of the key
}

// enter adds an entry, or changes it. It reports whether Redis is to be told.
func (r *registry) enter(key string, e script.SessionEntry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.entries[key]
	if known && old.SessionEntry == e {
		return false
	}
	_, pending := r.unconfirmed[key]
	r.version++
	r.entries[key] = entry{e, r.version, old.told || pending && !known}
	return r.tell(key)
}

// leave removes the entry of a key. It reports whether Redis is to be told. What Redis was never told of is gone at once.
func (r *registry) leave(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, known := r.entries[key]
	if !known {
		return false
	}
	r.version++
	delete(r.entries, key)
	if !old.told {
		delete(r.unconfirmed, key)
		return false
	}
	return r.tell(key)
}

// tell makes a key unconfirmed, unless the session is to be written anew. The mutex is held.
func (r *registry) tell(key string) bool {
	if !r.anew {
		r.unconfirmed[key] = struct{}{}
	}
	return !r.anew
}

// unreachable notes that Redis does not answer. However long that takes, nothing is kept of what
// Redis is not told.
func (r *registry) unreachable() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.anew = true
	clear(r.unconfirmed)
}

// reached notes that Redis answers. It reports whether the session is to be written anew.
func (r *registry) reached() (anew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	anew, r.anew = r.anew, false
	return anew
}

// takeUnconfirmed takes some of the unconfirmed keys, and returns what Redis is to be told of
// them. A key without an entry has one with version 0.
func (r *registry) takeUnconfirmed(limit int) map[string]entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := make(map[string]entry)
	for key := range r.unconfirmed {
		if len(said) == limit {
			break
		}
		delete(r.unconfirmed, key)
		said[key] = r.entries[key]
		if e, known := r.entries[key]; known {
			e.told = true
			r.entries[key] = e
		}
	}
	return said
}

// told notes whether Redis was told of these keys. A key that has changed since is unconfirmed
// again: nobody knows in which order the server was told.
func (r *registry) told(said map[string]entry, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, e := range said {
		if !done || r.entries[key].version != e.version {
			r.unconfirmed[key] = struct{}{}
		}
	}
}

// mark is the registry at one moment, and for how many changes Redis has confirmed nothing yet.
type mark struct{ size, version, open int }

func (r *registry) mark() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark{len(r.entries), r.version, len(r.unconfirmed)}
}

// differs compares the size that the session has in Redis, read after a mark, with the registry.
// It says whether there are fewer entries, or more, than the changes since the mark explain.
func (r *registry) differs(since mark, size int) (few, many bool) {
	now := r.mark()
	n := since.open + now.version - since.version
	return size < now.size-n, size > now.size+n
}

// markUnconfirmed makes the keys of all entries unconfirmed.
func (r *registry) markUnconfirmed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.entries {
		r.unconfirmed[key] = struct{}{}
	}
}
