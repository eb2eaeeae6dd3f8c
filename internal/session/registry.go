package session

import (
	"sync"

	"github.com/redlatch/redlatch/internal/script"
)

// registry is what the session in Redis is to say, and what is known of what it does say.
type registry struct {
	mu       sync.Mutex
	entries  map[string]entry
	unsure   map[string]struct{} // the keys of which Redis may say something else
	version  int                 // counts the changes
	underWay int                 // asides that were handed out and not answered yet
}

type entry struct {
	script.SessionEntry     // Until is by the local clock here
	version             int // from 1
}

// enter makes the session speak of an entry. It reports false if it does so already.
func (r *registry) enter(key string, e script.SessionEntry) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.entries[key]; ok && old.SessionEntry == e {
		return false
	}
	r.version++
	r.entries[key] = entry{e, r.version}
	r.underWay++
	return true
}

// leave makes the session not speak of a key. It reports false if it does not anyway.
func (r *registry) leave(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; !ok {
		return false
	}
	r.version++
	delete(r.entries, key)
	r.underWay++
	return true
}

// answered takes note of what came of an aside. It reports true if the key is unsure now.
func (r *registry) answered(key string, done bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underWay--
	if !done {
		r.unsure[key] = struct{}{}
	}
	return !done
}

// doubts takes some of the unsure keys. It returns what is to be told of them: an entry, or
// one without a version where there is none.
func (r *registry) doubts(most int) map[string]entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := make(map[string]entry)
	for key := range r.unsure {
		if len(said) == most {
			break
		}
		delete(r.unsure, key)
		said[key] = r.entries[key]
	}
	return said
}

// told takes note of whether doubts were answered. A key of which something else is to be
// said by now is unsure again: nobody knows in which order the server was told.
func (r *registry) told(said map[string]entry, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, e := range said {
		if !done || r.entries[key].version != e.version {
			r.unsure[key] = struct{}{}
		}
	}
}

// mark is the registry at one moment.
type mark struct{ size, version, underWay int }

func (r *registry) mark() mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	return mark{len(r.entries), r.version, r.underWay}
}

// differs says that the session has more than n entries too few, or too many, where n is what
// happened since a mark.
func (r *registry) differs(since mark, size int) (few, many bool) {
	now := r.mark()
	n := since.underWay + now.version - since.version
	return size < now.size-n, size > now.size+n
}

// doubtAll makes all keys unsure that the session is to speak of.
func (r *registry) doubtAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.entries {
		r.unsure[key] = struct{}{}
	}
}
