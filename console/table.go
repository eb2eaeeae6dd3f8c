package console

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// maxRows is how many locks are shown. The first by name are.
const maxRows = 20_000

// table is what was read last, as the page gets it. Its user locks.
type table struct {
	entries map[string]*entry // by the lock's id
	extent
}

// extent is how much of all locks the rows are.
type extent struct {
	Walked bool   `json:"walked"`           // all keys have been looked at
	Hidden int    `json:"hidden,omitempty"` // locks beyond maxRows
	Notice string `json:"notice,omitempty"` // what this user may not read
}

// entry is one lock: what was read, and what viewers were told.
type entry struct {
	lock inspect.Lock
	row  row
	json []byte
}

func newTable() *table { return &table{entries: map[string]*entry{}} }

// change is the difference between two readings.
type change struct {
	At   int64             `json:"at"`
	Set  []json.RawMessage `json:"set,omitempty"`
	Gone []string          `json:"gone,omitempty"`
	extent
	other bool // the extent is not what it was
}

func (c change) empty() bool { return !c.other && len(c.Set) == 0 && len(c.Gone) == 0 }

// update takes a reading. If a lock has the name of a semaphore that is gone, the row is that of the lock.
func (t *table) update(snapshot inspect.Snapshot, waits []Wait, permits []inspect.Counter, notice string) change {
	told := make(map[string][]Wait)
	for _, w := range waits {
		told[w.Lock] = append(told[w.Lock], w)
	}
	free := make(map[string]int)
	for _, c := range permits {
		free[c.Name] = c.Available
	}
	all := slices.Concat(snapshot.Locks, locksOf(permits))
	locks := all[:min(maxRows, len(all))]
	c := change{At: snapshot.At.UnixMilli(), extent: extent{snapshot.Walked, len(all) - len(locks), notice}}
	c.other = t.extent != c.extent
	present := make(map[string]bool, len(locks))
	for _, lock := range locks {
		id := idOf(lock.Name)
		if present[id] {
			continue
		}
		present[id] = true
		if text, changed := t.put(id, lock, told[lock.Name], free[lock.Name], snapshot.At); changed {
			c.Set = append(c.Set, text)
		}
	}
	t.extent = c.extent
	for id := range t.entries {
		if !present[id] {
			delete(t.entries, id)
			c.Gone = append(c.Gone, id)
		}
	}
	slices.Sort(c.Gone)
	return c
}

// put takes one lock, and says whether viewers have to be told.
func (t *table) put(id string, lock inspect.Lock, told []Wait, free int, at time.Time) (json.RawMessage, bool) {
	old := t.entries[id]
	if old == nil {
		old = &entry{}
	}
	row := newRow(id, lock, at, &old.row, t.Walked)
	row.Free = free
	row.tell(told, lock.Queue)
	text, err := json.Marshal(row)
	if err != nil || bytes.Equal(text, old.json) {
		old.lock = lock
		return nil, false
	}
	t.entries[id] = &entry{lock, row, text}
	return text, true
}

// rows are all of the table, by id.
func (t *table) rows() []json.RawMessage {
	rows := make([]json.RawMessage, 0, len(t.entries))
	for _, id := range slices.Sorted(maps.Keys(t.entries)) {
		rows = append(rows, t.entries[id].json)
	}
	return rows
}

// find returns what was read of a lock.
func (t *table) find(id string) (lock inspect.Lock) {
	if e := t.entries[id]; e != nil {
		lock = e.lock
	}
	return lock
}
