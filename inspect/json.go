package inspect

import (
	"encoding/json"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
)

// The fields that redlatch status --json has as well have the same names here. Durations are in
// milliseconds, and -1 is no end. Moments are RFC 3339. docs/inspect.md describes the fields, which
// stay.

type lockJSON struct {
	Lock      string        `json:"lock"`
	Kind      Kind          `json:"kind"`
	Locked    bool          `json:"locked"`
	Mode      string        `json:"mode"`
	TTLMillis int64         `json:"ttl_ms"`
	Token     int64         `json:"token"`
	Owners    int           `json:"owners"`
	Holders   []holderJSON  `json:"holders"`
	Queued    int           `json:"queued"`
	Queue     []waiterJSON  `json:"queue"`
	Waiting   int           `json:"waiting"`
	Findings  []findingJSON `json:"findings"`
	Seen      time.Time     `json:"seen"`
}

type holderJSON struct {
	Owner      string          `json:"owner"`
	Count      int             `json:"count"`
	Write      bool            `json:"write"`
	TTLMillis  int64           `json:"ttl_ms"`
	Holds      []int64         `json:"holds_ms,omitempty"`
	Name       string          `json:"name"`
	Addr       string          `json:"addr"`
	Protection *protectionJSON `json:"protection"`
	notedJSON
}

type notedJSON struct {
	Note   string      `json:"note"`
	Recall *recallJSON `json:"recall"`
}

type recallJSON struct {
	Author string `json:"author"`
	Reason string `json:"reason"`
	Told   bool   `json:"told"`
}

type waiterJSON struct {
	Owner    string    `json:"owner"`
	Deadline time.Time `json:"deadline"`
	Name     string    `json:"name"`
	Addr     string    `json:"addr"`
}

type protectionJSON struct {
	Alive       bool       `json:"alive"`
	Dead        bool       `json:"dead"`
	PausedSince *time.Time `json:"paused_since"`
	Watchdog    string     `json:"watchdog"`
}

type findingJSON struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

type eventJSON struct {
	At        time.Time `json:"at"`
	Lock      string    `json:"lock"`
	Kind      EventKind `json:"kind"`
	Owner     string    `json:"owner"`
	Name      string    `json:"name"`
	TTLMillis int64     `json:"ttl_ms"`
	Text      string    `json:"text"`
}

// MarshalJSON writes the lock with the field names of redlatch status --json.
func (l Lock) MarshalJSON() ([]byte, error) {
	out := lockJSON{
		Lock: protocol.Argument(l.Name), Kind: l.Kind, Locked: l.Mode != "", Mode: string(l.Mode), TTLMillis: millis(l.TTL),
		Token: l.Token, Owners: l.Owners, Holders: []holderJSON{}, Queued: l.Queued, Queue: []waiterJSON{},
		Waiting: l.Waiting, Findings: []findingJSON{}, Seen: l.Seen.UTC(),
	}
	for _, h := range l.Holders {
		out.Holders = append(out.Holders, h.json())
	}
	for _, w := range l.Queue {
		one := waiterJSON{Owner: protocol.Argument(w.Owner), Deadline: w.Deadline.UTC()}
		if w.Process != nil {
			one.Name, one.Addr = w.Process.Name, w.Process.Addr
		}
		out.Queue = append(out.Queue, one)
	}
	for _, f := range l.Findings {
		out.Findings = append(out.Findings, findingJSON(f))
	}
	return json.Marshal(out)
}

func (h Holder) json() holderJSON {
	out := holderJSON{Owner: protocol.Argument(h.Owner), Count: h.Count, Write: h.Write, TTLMillis: millis(h.TTL), notedJSON: h.Noted.json()}
	for _, left := range h.Holds {
		out.Holds = append(out.Holds, millis(left))
	}
	if h.Process != nil {
		out.Name, out.Addr = h.Process.Name, h.Process.Addr
	}
	if p := h.Protection; p != nil {
		out.Protection = &protectionJSON{Alive: p.Alive, Dead: p.Dead, Watchdog: p.Watchdog}
		if !p.PausedSince.IsZero() {
			since := p.PausedSince.UTC()
			out.Protection.PausedSince = &since
		}
	}
	return out
}

func (n Noted) json() notedJSON {
	if n.Recall == nil {
		return notedJSON{Note: n.Note}
	}
	return notedJSON{n.Note, &recallJSON{n.Recall.Author, n.Recall.Reason, n.Told}}
}

type counterJSON struct {
	Name      string        `json:"name"`
	Kind      Kind          `json:"kind"`
	Available int           `json:"available"`
	InUse     int           `json:"in_use"`
	Expired   int           `json:"expired"`
	Size      int           `json:"size"`
	Permits   []permitJSON  `json:"permits"`
	TTLMillis int64         `json:"ttl_ms"`
	Waiting   int           `json:"waiting"`
	Findings  []findingJSON `json:"findings"`
	Seen      time.Time     `json:"seen"`
}

type permitJSON struct {
	ID        string `json:"id"`
	TTLMillis int64  `json:"ttl_ms"`
	notedJSON
}

// MarshalJSON writes the counter. The size is -1 if it is unknown.
func (c Counter) MarshalJSON() ([]byte, error) {
	out := counterJSON{
		Name: protocol.Argument(c.Name), Kind: c.Kind, Available: c.Available, InUse: c.InUse, Expired: c.Expired, Size: -1, Permits: []permitJSON{},
		TTLMillis: millis(c.TTL), Waiting: c.Waiting, Findings: []findingJSON{}, Seen: c.Seen.UTC(),
	}
	if c.Kind == KindPermits {
		out.Size = c.Size()
	}
	for _, p := range c.Permits {
		out.Permits = append(out.Permits, permitJSON{p.ID, millis(p.TTL), p.Noted.json()})
	}
	for _, f := range c.Findings {
		out.Findings = append(out.Findings, findingJSON(f))
	}
	return json.Marshal(out)
}

// MarshalJSON writes the event with the field names of Lock.
func (e Event) MarshalJSON() ([]byte, error) {
	return json.Marshal(eventJSON{e.At.UTC(), protocol.Argument(e.Lock), e.Kind, protocol.Argument(e.Owner), e.Name, millis(e.TTL), e.Text})
}

// MarshalJSON writes the snapshot with its locks and events.
func (s Snapshot) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		At     time.Time `json:"at"`
		Walked bool      `json:"walked"`
		Locks  []Lock    `json:"locks"`
		Events []Event   `json:"events"`
	}{s.At.UTC(), s.Walked, append([]Lock{}, s.Locks...), append([]Event{}, s.Events...)})
}

func millis(d time.Duration) int64 {
	if d < 0 {
		return -1
	}
	return d.Milliseconds()
}
