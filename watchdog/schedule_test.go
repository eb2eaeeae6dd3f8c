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

func TestWhoWasNeverServedComesFirstWhoeverIsToServeIt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	in := func(d time.Duration) visit { return visit{at: now.Add(d)} }
	s := schedule{"early": in(-2 * time.Second), "late": in(-time.Second), "later": in(time.Second)}
	all := []script.Stalled{
		{Client: "late"}, {Client: "later"}, {Client: "early"},
		{Client: "new", Due: now}, {Client: "older", Due: now.Add(-time.Minute)},
	}
	if got, want := names(s.ripe(all, now, everybody)), []string{"older", "new", "early", "late"}; !slices.Equal(got, want) {
		t.Errorf("to be served are %v, want %v", got, want)
	}
	if got, want := names(s.ripe(all, now, nobody)), []string{"older", "new"}; !slices.Equal(got, want) {
		t.Errorf("of those that others serve, to be served are %v, want %v", got, want)
	}
}

func TestWhoIsStalledNoLongerIsForgotten(t *testing.T) {
	t.Parallel()
	s := schedule{"back": {mine: true}, "another's": {}, "still": {mine: true}}
	if back := s.retain([]script.Stalled{{Client: "still"}, {Client: "new"}}); !slices.Equal(back, []string{"back"}) {
		t.Errorf("back are %v", back)
	}
	if _, known := s["still"]; !known || len(s) != 1 {
		t.Errorf("remembered are %v", s)
	}
}
