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
	underWay    int                 // piggybacked calls that were handed out and not answered yet
}

type entry struct {
	script.SessionEntry     // Until is by the local clock here
	version             int // from 1
}

// enter adds an entry. It reports false if Redis is not told: the registry has the entry already and
// it is not told again, or the session is to be written anew.
func (r *registry) enter(key string, e script.SessionEntry, again bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.entries[key]; ok && old.SessionEntry == e && !again {
		return false
	}
	r.version++
	r.entries[key] = entry{e, r.version}
	return r.tell()
}

// leave removes the entry of a key. It reports false if Redis is not told: there is none, or the
// session is to be written anew.
func (r *registry) leave(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; !ok {
		return false
	}
	r.version++
	delete(r.entries, key)
	return r.tell()
}

// tell hands out a piggybacked call, if Redis is told anything. The mutex is held.
func (r *registry) tell() bool {
	if r.anew {
		return false
	}
	r.underWay++
	return true
}

// answered notes the outcome of a piggybacked call. It reports true if the key is unconfirmed
// now.
func (r *registry) answered(key string, done bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay--
	if done || r.anew {
		return false
	}
	r.unconfirmed[key] = struct{}{}
	return true
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
	return mark{len(r.entries), r.version, r.underWay + len(r.unconfirmed)}
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
