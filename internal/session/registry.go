package session

import (
	"sync"

	"github.com/redlatch/redlatch/internal/script"
)

// registry is what the session in Redis is to say, and which keys of it Redis has not confirmed.
type registry struct {
	mu          sync.Mutex
	entries     map[string]script.SessionEntry // Until is by the local clock here
	unconfirmed map[string]struct{}            // the keys of which Redis may say something else
	told        map[string]struct{}            // the keys that Redis has, once the last request is answered
	anew        bool                           // Redis is told nothing: the whole session is to be written anew
}

// enter adds an entry, or changes it. It reports whether Redis is to be told.
func (r *registry) enter(key string, e script.SessionEntry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.entries[key] == e {
		return false
	}
	r.entries[key] = e
	return r.tell(key)
}

// leave removes the entry of a key. It reports whether Redis is to be told. It is not if it was never told of the key.
func (r *registry) leave(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.entries[key]; !known {
		return false
	}
	delete(r.entries, key)
	if _, told := r.told[key]; !told {
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
	clear(r.told)
}

// reached notes that Redis answers. It reports whether the session is to be written anew, and how many keys Redis was
// told of.
func (r *registry) reached() (anew bool, told int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	anew, r.anew = r.anew, false
	return anew, len(r.told)
}

// take takes some of the unconfirmed keys, and returns the entries that Redis is to be told of, and the keys that it is to
// forget.
func (r *registry) take(limit int) (notes map[string]script.SessionEntry, forgets []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	notes = make(map[string]script.SessionEntry)
	for key := range r.unconfirmed {
		if len(notes)+len(forgets) == limit {
			return notes, forgets
		}
		delete(r.unconfirmed, key)
		if e, known := r.entries[key]; known {
			notes[key], r.told[key] = e, struct{}{}
		} else {
			forgets = append(forgets, key)
			delete(r.told, key)
		}
	}
	r.unconfirmed = make(map[string]struct{}) // a map that was large once stays slow
	return notes, forgets
}

// forget makes the keys of all entries unconfirmed: Redis has none of them.
func (r *registry) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unconfirmed, r.told = make(map[string]struct{}), make(map[string]struct{})
	for key := range r.entries {
		r.unconfirmed[key] = struct{}{}
	}
}
