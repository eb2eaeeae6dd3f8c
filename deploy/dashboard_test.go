package deploy_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// dashboard is what this test needs of Grafana's format.
type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct {
			Name, Type, Definition string
			Query                  any
		}
	}
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		FieldConfig struct{ Defaults struct{ Unit string } }
		Targets     []struct{ RefID, Expr, LegendFormat string }
	}
}

// readDashboard reads the dashboard.
func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("grafana/redlatch.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// variables are what Grafana puts in place of its variables.
var variables = strings.NewReplacer("$__rate_interval", "5m", "$job", ".*")

// Goal: each panel shows something. Method: Prometheus's own parser reads each expression, and every
// name and label in it is exported.
func TestTheDashboardShowsWhatIsExported(t *testing.T) {
	t.Parallel()
	all, shown := exported(t), 0
	for _, p := range readDashboard(t).Panels {
		if (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("panel %q of type %s has %d expressions", p.Title, p.Type, len(p.Targets))
		}
		for _, target := range p.Targets {
			shown++
			for _, problem := range all.check(variables.Replace(target.Expr)) {
				t.Errorf("panel %q: %s", p.Title, problem)
			}
			for _, label := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if !strings.Contains(target.Expr, label[1]) {
					t.Errorf("panel %q: the legend names %s, and %s has no such label", p.Title, label[1], target.Expr)
				}
			}
		}
	}
	if shown < 25 {
		t.Errorf("only %d expressions", shown)
	}
}

// Goal: nothing that is exported is forgotten.
func TestTheDashboardShowsEveryMetric(t *testing.T) {
	t.Parallel()
	var shown []string
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			for _, name := range selected(variables.Replace(target.Expr)) {
				shown = append(shown, metricOf(name))
			}
		}
	}
	for _, name := range exported(t).names() {
		switch metric := metricOf(name); metric {
		case "redlatch_watchdog_looks_total", "redlatch_watchdog_gone_holds_total": // the age says more, and a hold that is gone is no fault
		default:
			if !slices.Contains(shown, metric) {
				t.Errorf("no panel shows %s", metric)
			}
		}
	}
}

// metricOf is the metric of a series.
func metricOf(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// Goal: Grafana lays the panels out as they stand in the file: none over another, each with a number
// of its own, times as seconds.
func TestTheDashboardIsLaidOut(t *testing.T) {
	t.Parallel()
	d := readDashboard(t)
	taken, ids := make(map[[2]int]string), make(map[int]bool)
	for _, p := range d.Panels {
		if ids[p.ID] || p.ID == 0 {
			t.Errorf("panel %q has the number %d, as another", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q is over %q, or outside", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			seconds := strings.Contains(target.Expr, "_seconds") && !strings.Contains(target.Expr, "_seconds_count")
			if seconds != (p.FieldConfig.Defaults.Unit == "s") {
				t.Errorf("panel %q shows %s in %q", p.Title, target.Expr, p.FieldConfig.Defaults.Unit)
			}
		}
	}
	if d.UID == "" || d.Title == "" || d.SchemaVersion == 0 || len(d.Templating.List) != 2 {
		t.Errorf("%+v", d.Templating)
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" && !strings.HasPrefix(v.Definition, "label_values(redlatch_holds,") {
			t.Errorf("the variable %s is asked for by %s", v.Name, v.Definition)
		}
	}
}
