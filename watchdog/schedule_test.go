package watchdog

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

func names(all []script.Stalled) []string {
	var names []string
	for _, one := range all {
		names = append(names, one.Client)
	}
	return names
}

func everybody(string) bool { return true }
func nobody(string) bool    { return false }

func TestNewAndKnownClientsAreVisitedInTurn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	// A lease of 8 s: every 2 s by its own watchdog, every 4 s by others.
	ago := func(d time.Duration) record { return record{last: now.Add(-d), lease: 8 * time.Second} }
	failed := ago(time.Second)
	failed.lease = 0
	busy := ago(time.Hour)
	busy.underWay = true
	s := schedule{records: map[string]record{
		"early": ago(5 * time.Second), "late": ago(3 * time.Second), "later": ago(time.Second), "failed": failed, "busy": busy,
	}}
	all := []script.Stalled{
		{Client: "late"}, {Client: "later"}, {Client: "early"}, {Client: "busy"}, {Client: "failed"},
		{Client: "new", Due: now}, {Client: "older", Due: now.Add(-time.Minute)},
	}
	if got, want := names(s.due(all, now, everybody)), []string{"older", "early", "new", "late", "failed"}; !slices.Equal(got, want) {
		t.Errorf("to be served are %v, want %v", got, want)
	}
	if got, want := names(s.due(all, now, nobody)), []string{"older", "early", "new", "failed"}; !slices.Equal(got, want) {
		t.Errorf("of those that others serve, to be served are %v, want %v", got, want)
	}
}

func TestWhoIsStalledNoLongerIsForgotten(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := schedule{records: map[string]record{"back": {told: true, seen: now}, "another's": {}, "still": {told: true}, "busy": {underWay: true, told: true}}}
	if back := s.retain([]script.Stalled{{Client: "still"}, {Client: "new"}}, false, now); len(back) > 0 {
		t.Errorf("back are %v though not all were seen", back)
	}
	if back := s.retain([]script.Stalled{{Client: "still"}, {Client: "new"}}, true, now); !slices.Equal(back, []string{"back"}) {
		t.Errorf("back are %v", back)
	}
	if len(s.records) != 2 {
		t.Errorf("remembered are %v", s.records)
	}
}
