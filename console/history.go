package console

import (
	"container/list"
	"slices"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// The bounds of what is remembered. A text has shownMax bytes at most, so this is about 30 MB.
const (
	keepFor    = 15 * time.Minute
	maxStories = 20_000  // locks
	maxStory   = 256     // events of one lock
	maxEvents  = 100_000 // of all locks
	maxGaps    = 64
)

// history keeps what has happened to each lock. Its user locks.
type history struct {
	stories map[string]*list.Element // by the lock's id; the value is a *story
	recent  *list.List               // of *story, the one with the newest event first
	events  int                      // in all stories
	number  int64                    // of the last event
	began   time.Time                // since when locks are watched, zero while they are not
	gaps    []gap                    // when nobody watched
	paused  time.Time
}

// story is what has happened to one lock.
type story struct {
	id     string
	events []told // the oldest first
}

// told is an event as the page gets it.
type told struct {
	Number int64             `json:"n"`
	At     int64             `json:"at"`
	Kind   inspect.EventKind `json:"kind"`
	Owner  *party            `json:"owner,omitempty"`
	TTL    int64             `json:"ttl,omitempty"`
	Text   string            `json:"text"`
}

// gap is a time in which nobody watched. To is 0 if it lasts.
type gap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func newHistory() *history {
	return &history{stories: map[string]*list.Element{}, recent: list.New()}
}

// add remembers the events of a reading. Locks are watched from then on.
func (h *history) add(events []inspect.Event, at time.Time) {
	h.resume(at)
	h.remember(events, at)
}

// remember remembers events that were seen at a time, and forgets what is out of bounds.
func (h *history) remember(events []inspect.Event, at time.Time) {
	for _, e := range events {
		h.put(e)
	}
	h.forget(at.Add(-keepFor))
}

// resume ends a gap.
func (h *history) resume(at time.Time) {
	if h.began.IsZero() {
		h.began = at
	}
	if h.paused.IsZero() {
		return
	}
	h.gaps = append(h.gaps, gap{h.paused.UnixMilli(), at.UnixMilli()})
	h.gaps = h.gaps[max(0, len(h.gaps)-maxGaps):]
	h.paused = time.Time{}
}

// pause begins a gap.
func (h *history) pause(at time.Time) {
	if !h.began.IsZero() && h.paused.IsZero() {
		h.paused = at
	}
}

func (h *history) put(e inspect.Event) {
	h.number++
	t := told{Number: h.number, At: e.At.UnixMilli(), Kind: e.Kind, TTL: max(0, e.TTL.Milliseconds()), Text: shownText(e.Text)}
	if e.Owner != "" {
		p := newParty(e.Owner)
		p.Name = shownName(e.Name)
		t.Owner = &p
	}
	id := idOf(e.Lock)
	place := h.stories[id]
	if place == nil {
		place = h.recent.PushFront(&story{id: id})
		h.stories[id] = place
	}
	h.recent.MoveToFront(place)
	s := place.Value.(*story)
	if s.isForced(t) {
		return
	}
	s.events = append(s.events, t)
	h.events++
	if len(s.events) > maxStory {
		s.shorten()
		h.events--
	}
}

// isForced says that an event is what a reading makes of a hold that this console has ended.
func (s *story) isForced(t told) bool {
	if t.Kind != inspect.EventReleased && t.Kind != inspect.EventExpired || t.Owner == nil {
		return false
	}
	for _, before := range slices.Backward(s.events) {
		if before.Owner != nil && before.Owner.Key == t.Owner.Key {
			return before.Kind == inspect.EventForced
		}
	}
	return false
}

// forced says that this console has taken the lock from an owner a moment ago.
func (h *history) forced(lock, owner string, now time.Time) bool {
	place := h.stories[lock]
	return place != nil && slices.ContainsFunc(place.Value.(*story).events, func(t told) bool {
		return t.Kind == inspect.EventForced && t.Owner.Key == owner && now.UnixMilli()-t.At < repeatWithin.Milliseconds()
	})
}

// repeatWithin is for how long a request counts as a repetition of one that has taken the lock.
const repeatWithin = time.Minute

// shorten drops the oldest renewal, which says least, or else the oldest event.
func (s *story) shorten() {
	i := max(0, slices.IndexFunc(s.events, func(t told) bool { return t.Kind == inspect.EventRenewed }))
	s.events = slices.Delete(s.events, i, i+1)
}

// forget drops events before a time, and the stories of the locks that were quiet for longest while
// there are too many.
func (h *history) forget(before time.Time) {
	limit := before.UnixMilli()
	for place := h.recent.Back(); place != nil; place = h.recent.Back() {
		s := place.Value.(*story)
		if s.events[len(s.events)-1].At >= limit && h.recent.Len() <= maxStories && h.events <= maxEvents {
			return
		}
		h.events -= len(s.events)
		h.recent.Remove(place)
		delete(h.stories, s.id)
	}
}

// of returns the events of a lock after a number, and the gaps.
func (h *history) of(id string, after int64, now time.Time) ([]told, []gap) {
	gaps := slices.Clone(h.gaps)
	if !h.paused.IsZero() {
		gaps = append(gaps, gap{From: h.paused.UnixMilli()})
	}
	place := h.stories[id]
	if place == nil {
		return nil, gaps
	}
	limit := now.Add(-keepFor).UnixMilli()
	return slices.DeleteFunc(slices.Clone(place.Value.(*story).events), func(t told) bool {
		return t.Number <= after || t.At < limit
	}), gaps
}
