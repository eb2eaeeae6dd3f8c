package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/redlatch/redlatch/inspect"
)

// Goal: what is remembered is bounded in events of a lock, in locks, in all events and in time.
func TestTheHistoryIsBounded(t *testing.T) {
	t.Parallel()
	h, now := newHistory(), time.Now()
	granted := inspect.Event{At: now, Lock: "busy", Kind: inspect.EventGranted, Owner: "owner:1"}
	h.add([]inspect.Event{granted}, now)
	for range 2 * maxStory {
		h.add([]inspect.Event{{At: now, Lock: "busy", Kind: inspect.EventRenewed, Owner: "owner:1"}}, now)
	}
	events, _ := h.of(idOf("busy"), 0, now)
	if len(events) != maxStory || events[0].Kind != inspect.EventGranted || h.events != maxStory {
		t.Errorf("%d events of %d, the first is %s: renewals are to go first", len(events), h.events, events[0].Kind)
	}
	if later, _ := h.of(idOf("busy"), events[maxStory-2].Number, now); len(later) != 1 {
		t.Errorf("%d events are after the last but one", len(later))
	}
	var many []inspect.Event
	for i := range maxEvents + 10 {
		many = append(many, inspect.Event{At: now, Lock: fmt.Sprint(i % (maxStories + 10)), Kind: inspect.EventGranted})
	}
	h.add(many, now)
	if len(h.stories) > maxStories || h.events > maxEvents || h.recent.Len() != len(h.stories) {
		t.Errorf("%d events of %d locks", h.events, len(h.stories))
	}
	for i := range many {
		many[i].Lock = fmt.Sprint(i % 1000)
	}
	h = newHistory()
	h.add(many, now)
	if h.events > maxEvents || h.events < maxEvents/2 {
		t.Errorf("%d events of few locks", h.events)
	}
	h.add(nil, now.Add(keepFor+time.Second))
	if h.events != 0 || len(h.stories) != 0 {
		t.Errorf("later there are %d events of %d locks", h.events, len(h.stories))
	}
}

// Goal: the time in which nobody looked is marked.
func TestTheHistoryHasGaps(t *testing.T) {
	t.Parallel()
	h, now := newHistory(), time.Now()
	h.pause(now) // nobody has looked yet
	h.add(nil, now)
	h.pause(now.Add(time.Second))
	if _, gaps := h.of("x", 0, now); len(gaps) != 1 || gaps[0].To != 0 {
		t.Errorf("while nobody looks: %v", gaps)
	}
	h.add(nil, now.Add(3*time.Second))
	if _, gaps := h.of("x", 0, now); len(gaps) != 1 || gaps[0].To-gaps[0].From != 2000 {
		t.Errorf("afterwards: %v", gaps)
	}
}

// Goal: whatever stands in Redis, the page gets short and valid text that cannot move a cursor or turn
// the direction of writing.
func TestHostileNamesAreEscaped(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", "<script>alert(1)</script>", `"quoted' name`, "line\nbreak\x1b[2J", "\u202eevil", "\xff\xfe", strings.Repeat("n", 64<<10), "a\x00b", "\u2066x\u2069",
	} {
		lock := held(name, name, time.Minute)
		lock.Holders[0].Process = &inspect.Process{Client: name, Name: name, Addr: name}
		lock.Queue = []inspect.Waiter{{Owner: name, Process: lock.Holders[0].Process}}
		lock.Findings = []inspect.Finding{{Code: "x", Text: name}}
		table, h := newTable(), newHistory()
		table.update(reading(lock), nil, nil, "")
		h.add([]inspect.Event{{At: time.Now(), Lock: name, Owner: name, Name: name, Text: name}}, time.Now())
		events, _ := h.of(idOf(name), 0, time.Now())
		story, err := json.Marshal(events)
		if err != nil || len(events) != 1 {
			t.Fatalf("%.20q: %d events, %v", name, len(events), err)
		}
		text := string(table.rows()[0]) + string(story)
		if len(text) > 20_000 || !utf8.ValidString(text) || strings.ContainsAny(text, "<>\n\x1b\u202e\u2066\x00\ufffd") {
			t.Errorf("%.20q becomes %.300s (%d bytes)", name, text, len(text))
		}
	}
}

// Goal: whatever stands in Redis, a row is bounded and has no word of another's.
func TestRowsOfHostileLocksAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("\u202e<x", 2000)
	lock := inspect.Lock{Name: long, Kind: inspect.KindMutex, TTL: 1<<63 - 1, Token: 1<<63 - 1, Owners: 1 << 40, Seen: time.Now()}
	for i := range 2000 {
		lock.Holders = append(lock.Holders, inspect.Holder{Owner: fmt.Sprint(long, i), Count: 1 << 60, TTL: -1 << 62, Process: &inspect.Process{Client: long, Name: long, Addr: long}})
		lock.Queue = append(lock.Queue, inspect.Waiter{Owner: fmt.Sprint(long, i), Deadline: time.Unix(1<<60, 0)})
	}
	lock.Findings = []inspect.Finding{{Code: "x", Text: long}}
	table := newTable()
	table.update(reading(lock), []Wait{{Lock: long, Owner: long, Name: long, Under: make([]string, 1000)}}, nil, long)
	rows := table.rows()
	if len(rows[0]) > 1<<20 || bytes.ContainsAny(rows[0], "\u202e<") {
		t.Errorf("a row has %d bytes", len(rows[0]))
	}
}

// Goal: the page gets every digit of a token, and a name also for the lock whose name is empty.
func TestNumbersAndNamesAreExact(t *testing.T) {
	t.Parallel()
	lock := held("", "owner:1", time.Minute)
	lock.Token = 1<<62 + 1
	table := newTable()
	table.update(reading(lock), nil, nil, "")
	var got map[string]any
	if err := json.Unmarshal(table.rows()[0], &got); err != nil {
		t.Fatal(err)
	}
	if got["token"] != "4611686018427387905" || got["name"] != `""` {
		t.Errorf("got the token %v, the name %v", got["token"], got["name"])
	}
}
