package script_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// invent writes names into the set of clients, each part with a score of its own.
func (s *server) invent(t *testing.T, parts, each int) {
	t.Helper()
	const fill = `for i = 1, ARGV[2] do redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. i) end`
	for part := range parts {
		s.must(t, "EVAL", fill, "1", protocol.Sessions, fmt.Sprint(part+1), fmt.Sprint(each))
	}
}

// page reads a page.
func (s *server) page(t *testing.T, from script.Cursor, limit int) script.StalledPage {
	t.Helper()
	return redistest.Must(script.ReadStalled(s.run(t, script.SessionsStalled(from, limit))))
}

// Goal: a page costs the same wherever it begins. Method: the first of 800,000 names, and the last, each
// at best of eight times. They take turns, because a busy machine is slow for a while.
func TestAPageOfTheStalledCostsTheSameWhereverItBegins(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	s.invent(t, 800, 1000)
	last := script.CursorAt(time.UnixMilli(800))
	if n := len(s.page(t, last, 1000).Clients); n != 1000 {
		t.Fatalf("the last page has %d clients", n)
	}
	first, deep := time.Hour, time.Hour
	for range 8 {
		first = min(first, s.spent(t, func() { s.page(t, script.Cursor{}, 1000) }))
		deep = min(deep, s.spent(t, func() { s.page(t, last, 1000) }))
	}
	if deep > 4*first && deep > 3*time.Millisecond {
		t.Errorf("the first page costs %v of a processor, the last %v", first, deep)
	}
}

// Goal: the pages have every client once, and end, also if many have one score. Those of one score
// beyond all that a server can take are left out.
func TestThePagesHaveEveryStalledClientOnce(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	s.invent(t, 7, 30)
	s.invent(t, 1, 9000)
	s.must(t, "ZADD", protocol.Sessions, "-inf", "a", "3.5", "b", "9e300", "not overdue")
	var names []string
	for at, pages := (script.Cursor{}), 0; ; pages++ {
		page := s.page(t, at, 100)
		for _, one := range page.Clients {
			names = append(names, one.Client)
		}
		if at = page.Next; page.Last {
			break
		}
		if pages > 100 {
			t.Fatal("the pages do not end")
		}
	}
	slices.Sort(names)
	if n := len(slices.Compact(slices.Clone(names))); n != len(names) {
		t.Errorf("%d clients are named %d times", n, len(names))
	}
	if want := 2 + 6*30 + 5099; len(names) != want {
		t.Errorf("%d clients are named, want %d", len(names), want)
	}
}
