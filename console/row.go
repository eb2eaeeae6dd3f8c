package console

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
)

// row is a lock as the page gets it. Times are milliseconds since 1970 by the clock of this machine.
type row struct {
	ID       string    `json:"id"`
	Name     string    `json:"name"`
	Kind     string    `json:"kind"`
	Mode     string    `json:"mode"`
	Ends     int64     `json:"ends"` // when its time is over; -1 without expiry, 0 while free
	Full     int64     `json:"full"` // the longest time that was seen to be left
	Holders  []holder  `json:"holders"`
	Held     int       `json:"held"` // how many holders there are; more than are listed, perhaps
	Queue    []waiter  `json:"queue"`
	Queued   int       `json:"queued"`           // likewise
	Told     []waiter  `json:"told,omitempty"`   // who else says that it waits
	Untold   int       `json:"untold,omitempty"` // how many more say so
	Waiting  int       `json:"waiting"`          // processes that listen; -1 if unknown
	Free     int       `json:"free,omitempty"`   // permits of a semaphore that can be taken; its holders have the others
	Token    int64     `json:"token,string"`     // a number of JavaScript has 53 bits
	Findings []finding `json:"findings"`
}

type holder struct {
	party
	Count  int    `json:"count"`
	Write  bool   `json:"write"`
	Ends   int64  `json:"ends"`
	Full   int64  `json:"full"`
	Since  int64  `json:"since"`            // when it was seen first
	Paused int64  `json:"paused,omitempty"` // since when its heartbeat is overdue
	Dog    string `json:"watchdog,omitempty"`
	Guard  bool   `json:"protected"`
	Dead   bool   `json:"dead,omitempty"`  // its heartbeat is overdue, and its process is gone
	Least  bool   `json:"least,omitempty"` // it held the lock before anybody looked
	Note   string `json:"note,omitempty"`  // what it says of its hold
	Asked  string `json:"asked,omitempty"` // who asks it for the lock, why, and whether it knows
}

type waiter struct {
	party
	Deadline int64    `json:"deadline,omitempty"`
	Under    []string `json:"under,omitempty"`   // the digests of owners whose holds end after its wait
	Certain  bool     `json:"certain,omitempty"` // it is part of a certain cycle
}

type finding struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// The bounds of one row.
const (
	maxHolders = 100
	maxQueue   = 200
	maxUnder   = 20
)

// newRow makes a row of what was read at a time. It keeps the times of the old row where they differ
// only by how long reading took: a lease that just runs down is no change. Walked says that a holder
// that is new has just come.
func newRow(id string, lock inspect.Lock, at time.Time, old *row, walked bool) row {
	r := row{
		ID: id, Name: protocol.Show(lock.Name), Kind: string(lock.Kind), Mode: string(lock.Mode),
		Held: max(lock.Owners, len(lock.Holders)), Queued: max(lock.Queued, len(lock.Queue)), Waiting: lock.Waiting, Token: lock.Token,
		Holders: []holder{}, Queue: []waiter{}, Findings: []finding{},
	}
	seen := lock.Seen
	if seen.IsZero() {
		seen = at
	}
	for _, h := range lock.Holders[:min(maxHolders, len(lock.Holders))] {
		r.Holders = append(r.Holders, newHolder(h, seen, old, walked))
	}
	r.Ends, r.Full = endOf(lock.TTL, seen, old.Ends), 0
	if lock.Mode == "" {
		r.Ends = 0
	}
	if slices.EqualFunc(r.Holders, old.Holders, func(now, before holder) bool { return now.Key == before.Key }) {
		r.Full = old.Full
	}
	r.Full = max(r.Full, lock.TTL.Milliseconds())
	for _, w := range lock.Queue[:min(maxQueue, len(lock.Queue))] {
		r.Queue = append(r.Queue, newWaiter(w, seen, old))
	}
	for _, f := range lock.Findings {
		r.Findings = append(r.Findings, finding{f.Code, shownText(f.Text)})
	}
	return r
}

func newHolder(h inspect.Holder, seen time.Time, old *row, walked bool) holder {
	n := holder{party: newParty(h.Owner), Count: h.Count, Write: h.Write, Since: seen.UnixMilli(), Least: !walked, Note: shownText(h.Note), Asked: askedOf(h.Noted)}
	n.setProcess(h.Process)
	var before holder
	if i := slices.IndexFunc(old.Holders, func(h holder) bool { return h.Key == n.Key && h.Write == n.Write }); i >= 0 {
		before = old.Holders[i]
		n.Since, n.Full, n.Least = before.Since, before.Full, before.Least
	}
	n.Ends = endOf(h.TTL, seen, before.Ends)
	n.Full = max(n.Full, h.TTL.Milliseconds())
	if p := h.Protection; p != nil {
		n.Guard, n.Dead, n.Dog = true, p.Dead, shownName(p.Watchdog)
		if !p.Alive && !p.PausedSince.IsZero() {
			n.Paused = p.PausedSince.UnixMilli()
		}
	}
	return n
}

func askedOf(n inspect.Noted) string {
	if n.Recall == nil {
		return ""
	}
	knows := map[bool]string{true: "the holder knows", false: "the holder does not know yet"}[n.Told]
	return shownText(fmt.Sprintf("%s asks for it: %s (%s)", cmp.Or(n.Recall.Author, "somebody"), n.Recall.Reason, knows))
}

// newWaiter keeps the deadline of before if it is about the same, for it moves with each keep-alive. But
// one that is over soon would look as if nobody kept it.
func newWaiter(w inspect.Waiter, seen time.Time, old *row) waiter {
	n := waiter{party: newParty(w.Owner), Deadline: w.Deadline.UnixMilli()}
	n.setProcess(w.Process)
	for _, before := range old.Queue {
		if before.Key == n.Key && near(n.Deadline, before.Deadline, 10*time.Second) && before.Deadline > seen.Add(10*time.Second).UnixMilli() {
			n.Deadline = before.Deadline
		}
	}
	return n
}

// tell adds what processes say of their waits: of those in the queue, and of others.
func (r *row) tell(waits []Wait, queue []inspect.Waiter) {
	if len(waits) == 0 {
		return
	}
	places := make(map[string]int)
	for place, q := range queue {
		places[q.Owner] = place
	}
	for _, w := range waits {
		place, queued := places[w.Owner]
		switch {
		case queued && place >= len(r.Queue): // Queued counts it
			continue
		case !queued && len(r.Told) == maxQueue:
			r.Untold++
			continue
		}
		n := waiter{party: newParty(w.Owner), Certain: w.Certain}
		n.Name = shownName(w.Name)
		for _, owner := range w.Under[:min(maxUnder, len(w.Under))] {
			n.Under = append(n.Under, idOf(owner))
		}
		if queued {
			r.Queue[place].Under, r.Queue[place].Certain = n.Under, n.Certain
		} else {
			r.Told = append(r.Told, n)
		}
	}
}

// jitter is by how much two readings of the same end may differ.
const jitter = 250 * time.Millisecond

// endOf is when a time to live is over. It is what it was before, if that is about the same.
func endOf(ttl time.Duration, seen time.Time, before int64) int64 {
	if ttl < 0 {
		return -1
	}
	end := seen.Add(ttl).UnixMilli()
	if near(end, before, jitter) {
		return before
	}
	return end
}

func near(a, b int64, within time.Duration) bool { return max(a-b, b-a) <= within.Milliseconds() }
