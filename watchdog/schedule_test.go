package watchdog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

func names(p plan) (names []string) {
	for _, one := range p.visits {
		names = append(names, one.Client)
	}
	return names
}

func everybody(string) bool { return true }
func nobody(string) bool    { return false }

// scheduleOf is a schedule of some records, whose clients it names.
func scheduleOf(records map[string]record) *schedule {
	s := &schedule{records: make(map[string]record), mine: everybody}
	for client, r := range records {
		r.Client, r.mine = client, true
		s.set(client, r)
	}
	return s
}

func TestEachKindOfClientIsVisitedInTurn(t *testing.T) {
	t.Parallel()
	now := time.Now()
	// A lease of 8 s: every 2 s by its own watchdog, every 4 s by others.
	ago := func(k kind, d time.Duration) record {
		return record{kind: k, last: now.Add(-d), lease: 8 * time.Second}
	}
	unable := ago(failed, time.Second)
	unable.lease = 0
	busy := ago(holding, time.Hour)
	busy.underWay = true
	brandNew, older := record{last: now}, record{last: now}
	brandNew.Due, older.Due = now, now.Add(-time.Minute)
	s := scheduleOf(map[string]record{
		"early": ago(holding, 5*time.Second), "late": ago(holding, 3*time.Second), "later": ago(holding, time.Second),
		"failed": unable, "busy": busy, "new": brandNew, "older": older, "idle": ago(idle, 5*time.Second),
	})
	if got, want := names(s.plan(now, 100)), []string{"early", "older", "late", "failed", "new", "idle"}; !slices.Equal(got, want) {
		t.Errorf("to be visited are %v, want %v", got, want)
	}
	s.assign(nobody)
	if got, want := names(s.plan(now, 100)), []string{"early", "older", "failed", "new", "idle"}; !slices.Equal(got, want) {
		t.Errorf("of those that others serve, to be visited are %v, want %v", got, want)
	}
	s.assign(func(client string) bool { return client == "late" })
	if p := s.plan(now, 100); names(p)[0] != "late" || p.serving != 1 || p.late != time.Second {
		t.Errorf("with one client of its own the plan is %+v", p)
	}
}

// Goal: no number of clients of one kind takes the time of those of another.
func TestABudgetIsSharedAmongTheKinds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	records := make(map[string]record)
	for _, k := range []kind{fresh, holding, failed, idle} {
		for i := range 1000 {
			records[fmt.Sprint(k, " ", i)] = record{kind: k, last: now.Add(-time.Minute), lease: time.Second}
		}
	}
	shares := func() (n [4]int) {
		for _, name := range names(scheduleOf(records).plan(now, 400)) {
			n[name[0]-'0']++
		}
		return n
	}
	if got, want := shares(), [4]int{fresh: 100, holding: 200, failed: 100}; got != want {
		t.Errorf("the shares are %v, want %v", got, want)
	}
	for i := range 1000 {
		delete(records, fmt.Sprint(fresh, " ", i))
		delete(records, fmt.Sprint(failed, " ", i))
	}
	if got, want := shares(), [4]int{holding: 400}; got != want {
		t.Errorf("with two kinds the shares are %v, want %v", got, want)
	}
	for i := range 1000 {
		delete(records, fmt.Sprint(holding, " ", i))
	}
	if got, want := shares(), [4]int{idle: 20}; got != want {
		t.Errorf("the idle alone get %v, want %v", got, want)
	}
}

func TestWhoIsStalledNoLongerIsForgotten(t *testing.T) {
	t.Parallel()
	s := scheduleOf(map[string]record{"back": {told: true}, "another's": {}, "still": {told: true}, "busy": {underWay: true, told: true}})
	some := found{StalledPage: script.StalledPage{Clients: []script.Stalled{{Client: "still"}, {Client: "new"}}}}
	if back := s.retain(some, []string{"busy", "another's"}); len(back) > 0 || len(s.records) != 3 {
		t.Errorf("back are %v, and remembered %v, though not all were seen", back, s.records)
	}
	some.whole = true
	if back := s.retain(some, nil); !slices.Equal(back, []string{"back"}) {
		t.Errorf("back are %v", back)
	}
	if len(s.records) != 2 {
		t.Errorf("remembered are %v", s.records)
	}
}

// Goal: what is remembered has a bound, and a client that holds something finds a place though many
// do not.
func TestWhatIsRememberedIsBounded(t *testing.T) {
	t.Parallel()
	s := scheduleOf(nil)
	var many []script.Stalled
	for i := range maxKnown + 10 {
		many = append(many, script.Stalled{Client: fmt.Sprint(i)})
	}
	s.add(many, time.Now())
	if len(s.records) != maxKnown {
		t.Errorf("%d are remembered", len(s.records))
	}
	for _, one := range many[:maxKnown] {
		s.change(one.Client, func(r *record) { r.kind = idle })
	}
	if len(s.records) != maxIdle || s.idle != maxIdle {
		t.Errorf("%d idle ones are remembered, counted as %d", len(s.records), s.idle)
	}
	for client := range s.records {
		s.change(client, func(r *record) { r.kind = holding })
	}
	if s.idle != 0 {
		t.Errorf("%d of none are idle", s.idle)
	}
}

// Goal: a client that has run and is stalled again is as urgent as a new one.
func TestWhoIsStalledAgainIsNew(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := scheduleOf(map[string]record{"same": {kind: idle, lease: time.Hour, last: now}, "again": {kind: idle, lease: time.Hour, last: now}})
	unknown := s.unknown([]script.Stalled{{Client: "same"}, {Client: "again", Score: "1"}, {Client: "new"}}, now)
	if len(unknown) != 1 || unknown[0].Client != "new" {
		t.Errorf("unknown are %v", unknown)
	}
	if got := names(s.plan(now, 10)); !slices.Equal(got, []string{"again"}) {
		t.Errorf("to be visited are %v", got)
	}
}

// Goal: the page says how many paused clients three watchdogs can serve. Method: the clients' next visits, by the
// schedule, use up all visits that the looks may begin.
func TestThePageSaysHowManyPausedClientsThereMayBe(t *testing.T) {
	page, err := os.ReadFile("../docs/watchdog.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	begins := maxVisits * time.Second / defaultLook // in a second
	var most []any
	for _, lease := range []time.Duration{10 * time.Second, 30 * time.Second} {
		visits := 0.0 // to one client in a second, by the watchdog that serves it and two others
		for _, mine := range []bool{true, false, false} {
			r := record{kind: holding, lease: lease, mine: mine}
			visits += float64(time.Second) / float64(r.at().Sub(r.last))
		}
		most = append(most, int(3*float64(begins)/visits)/1000, lease/time.Second)
	}
	if want := fmt.Sprintf("about %d,000 paused clients with leases of %d s, or %d,000 with leases of %d s", most...); !strings.Contains(text, want) {
		t.Errorf("docs/watchdog.md does not say %q", want)
	}
}
