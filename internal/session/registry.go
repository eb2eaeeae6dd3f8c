package session

import (
	"maps"
	"slices"
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
	script.SessionEntry // Until is by the local clock here
	version             int
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

// remark is what is to be told about some unsure keys.
type remark struct {
	versions map[string]int // as told; 0: there is no entry
	notes    []script.SessionEntry
	forgets  []string
}

// doubts takes some of the unsure keys.
func (r *registry) doubts(most int) remark {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := remark{versions: make(map[string]int)}
	for key := range r.unsure {
		if len(said.versions) == most {
			break
		}
		delete(r.unsure, key)
		e, ok := r.entries[key]
		said.versions[key] = e.version
		if ok {
			said.notes = append(said.notes, e.SessionEntry)
		} else {
			said.forgets = append(said.forgets, key)
		}
	}
	return said
}

// told takes note of whether a remark was answered. A key of which something else is to be
// said by now is unsure again: nobody knows in which order the server was told.
func (r *registry) told(said remark, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, version := range said.versions {
		if !done || r.entries[key].version != version {
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

// differs says that what happened since a mark does not explain that the session has n
// entries.
func (r *registry) differs(since mark, n int) bool {
	now := r.mark()
	apart := max(n-now.size, now.size-n)
	return apart > since.underWay+now.version-since.version
}

// compare finds the keys of which a session that was read after a mark says something else.
func (r *registry) compare(since mark, read []script.SessionEntry, odd []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := maps.Clone(r.entries)
	for _, e := range read {
		key := e.Key()
		if mine, ok := r.entries[key]; !ok || !mine.like(e) {
			r.unsure[key] = struct{}{}
		}
		delete(missing, key)
	}
	for _, key := range odd {
		r.unsure[key] = struct{}{}
		delete(missing, key)
	}
	for key, e := range missing {
		if e.version <= since.version { // it had been entered when the session was read
			r.unsure[key] = struct{}{}
		}
	}
}

// like says whether an entry as Redis has it asks for the same. The moments are of two
// clocks, and not compared: they do not change but together with a note.
func (e entry) like(read script.SessionEntry) bool {
	return e.Read == read.Read && e.Count == read.Count && e.Lease == read.Lease && e.Until.IsZero() == read.Until.IsZero()
}

// drop makes the session not speak of a key, which is told later. It reports false if it
// does not anyway.
func (r *registry) drop(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.entries[key]; !ok {
		return false
	}
	r.version++
	delete(r.entries, key)
	r.unsure[key] = struct{}{}
	return true
}

// keys are what the session speaks of, in order.
func (r *registry) keys() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.entries))
}
