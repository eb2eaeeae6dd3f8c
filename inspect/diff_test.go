package inspect_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
)

// Goal: each thing that can happen between two readings is an event, and time that passes is none.
func TestDiff(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	held := func(after, ttl time.Duration, change ...func(*inspect.Lock)) inspect.Lock {
		l := inspect.Lock{Name: "job", Kind: inspect.KindMutex, Mode: redlatch.ModeExclusive, TTL: ttl, Owners: 1,
			Holders: []inspect.Holder{{Owner: "a:1", Count: 1, TTL: ttl, Process: &inspect.Process{Name: "web"}}}, Seen: began.Add(after)}
		for _, f := range change {
			f(&l)
		}
		return l
	}
	free := func(after time.Duration) inspect.Lock { return inspect.Lock{Name: "job", Seen: began.Add(after)} }
	by := func(owner string) func(*inspect.Lock) { return func(l *inspect.Lock) { l.Holders[0].Owner = owner } }
	queue := func(owners ...string) func(*inspect.Lock) {
		return func(l *inspect.Lock) {
			l.Kind, l.Queued = inspect.KindFair, len(owners)
			for _, o := range owners {
				l.Queue = append(l.Queue, inspect.Waiter{Owner: o})
			}
		}
	}
	cut := func(l *inspect.Lock) { l.Owners = 2000 }
	waiting := func(n int) func(*inspect.Lock) { return func(l *inspect.Lock) { l.Waiting = n } }
	protected := func(p inspect.Protection) func(*inspect.Lock) {
		return func(l *inspect.Lock) { l.Holders[0].Protection = &p }
	}
	noted := func(note string) func(*inspect.Lock) { return func(l *inspect.Lock) { l.Holders[0].Note = note } }
	asked := func(reason string, told bool) func(*inspect.Lock) {
		return func(l *inspect.Lock) {
			l.Holders[0].Recall, l.Holders[0].Told = &redlatch.RecalledError{Reason: reason}, told
		}
	}
	finding := func(l *inspect.Lock) { l.Findings = []inspect.Finding{{Code: "x", Text: "Bad."}} }
	const s = time.Second
	for name, c := range map[string]struct {
		prev, next []inspect.Lock
		want       string
	}{
		"granted":                          {nil, []inspect.Lock{held(0, 30*s)}, "granted a:1"},
		"granted after a look":             {[]inspect.Lock{free(0)}, []inspect.Lock{held(s, 30*s)}, "granted a:1"},
		"time passes":                      {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s)}, ""},
		"time jitters":                     {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s+190*time.Millisecond)}, ""},
		"renewed":                          {[]inspect.Lock{held(0, 20*s)}, []inspect.Lock{held(s, 29*s)}, "renewed a:1"},
		"without an expiry":                {[]inspect.Lock{held(0, -1)}, []inspect.Lock{held(s, -1)}, ""},
		"without one now":                  {[]inspect.Lock{held(0, s)}, []inspect.Lock{held(s, -1)}, "renewed a:1"},
		"with one now":                     {[]inspect.Lock{held(0, -1)}, []inspect.Lock{held(s, s)}, ""},
		"released":                         {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{free(s)}, "released a:1"},
		"released and gone":                {[]inspect.Lock{held(0, 30*s)}, nil, "released a:1"},
		"expired":                          {[]inspect.Lock{held(0, s/2)}, []inspect.Lock{free(s)}, "expired a:1"},
		"expired and gone":                 {[]inspect.Lock{held(0, s/2)}, nil, "expired a:1"},
		"endless and gone":                 {[]inspect.Lock{held(0, -1)}, nil, "released a:1"},
		"handed over":                      {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 30*s, by("b:1"))}, "released a:1, granted b:1"},
		"reentry":                          {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s, func(l *inspect.Lock) { l.Holders[0].Count = 2 })}, "reentry a:1"},
		"of very many, others are named":   {[]inspect.Lock{held(0, 30*s, cut)}, []inspect.Lock{held(s, 29*s, cut, by("b:1"))}, ""},
		"of very many, one is still named": {[]inspect.Lock{held(0, 20*s, cut)}, []inspect.Lock{held(s, 29*s, cut)}, "renewed a:1"},
		"joins the queue":                  {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s, queue("b:1", "c:1"))}, "waits b:1, waits c:1"},
		"leaves the queue":                 {[]inspect.Lock{held(0, 30*s, queue("b:1", "c:1"))}, []inspect.Lock{held(s, 29*s, queue("c:1"))}, "left b:1"},
		"its turn":                         {[]inspect.Lock{held(0, 30*s, queue("b:1"))}, []inspect.Lock{held(s, 30*s, by("b:1"))}, "released a:1, granted b:1"},
		"more listen":                      {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s, waiting(2))}, "waits "},
		"fewer listen":                     {[]inspect.Lock{held(0, 30*s, waiting(2))}, []inspect.Lock{held(s, 29*s, waiting(1))}, "left "},
		"unknown listeners":                {[]inspect.Lock{held(0, 30*s, waiting(-1))}, []inspect.Lock{held(s, 29*s, waiting(1))}, ""},
		"paused": {[]inspect.Lock{held(0, 30*s, protected(inspect.Protection{Alive: true}))},
			[]inspect.Lock{held(s, 29*s, protected(inspect.Protection{}))}, "paused a:1"},
		"resumed": {[]inspect.Lock{held(0, 30*s, protected(inspect.Protection{}))},
			[]inspect.Lock{held(s, 29*s, protected(inspect.Protection{Alive: true}))}, "resumed a:1"},
		"dead": {[]inspect.Lock{held(0, 30*s, protected(inspect.Protection{}))},
			[]inspect.Lock{held(s, 29*s, protected(inspect.Protection{Dead: true}))}, "paused a:1"},
		"granted with a note": {nil, []inspect.Lock{held(0, 30*s, noted("x"))}, "granted a:1, noted a:1"},
		"another note":        {[]inspect.Lock{held(0, 30*s, noted("x"))}, []inspect.Lock{held(s, 29*s, noted("y"))}, "noted a:1"},
		"the note stays":      {[]inspect.Lock{held(0, 30*s, noted("x"))}, []inspect.Lock{held(s, 29*s, noted("x"))}, ""},
		"asked for":           {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s, asked("x", false))}, "recalled a:1"},
		"still asked for":     {[]inspect.Lock{held(0, 30*s, asked("x", false))}, []inspect.Lock{held(s, 29*s, asked("x", false))}, ""},
		"it knows":            {[]inspect.Lock{held(0, 30*s, asked("x", false))}, []inspect.Lock{held(s, 29*s, asked("x", true))}, "recalled a:1"},
		"asked once more":     {[]inspect.Lock{held(0, 30*s, asked("x", true))}, []inspect.Lock{held(s, 29*s, asked("y", true))}, "recalled a:1"},

		"finding":       {[]inspect.Lock{held(0, 30*s)}, []inspect.Lock{held(s, 29*s, finding)}, "finding "},
		"finding stays": {[]inspect.Lock{held(0, 30*s, finding)}, []inspect.Lock{held(s, 29*s, finding)}, ""},
	} {
		var got []string
		for _, e := range inspect.Diff(c.prev, c.next, began.Add(s)) {
			got = append(got, string(e.Kind)+" "+e.Owner)
			if e.Lock != "job" || e.Text == "" || e.At.Before(began) || e.Owner == "a:1" && e.Name != "web" {
				t.Errorf("%s: %+v", name, e)
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
