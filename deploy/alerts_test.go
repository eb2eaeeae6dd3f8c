package deploy_test

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const rulesFile = "prometheus/redlatch.rules.yml"

// alerts are the rules, by name.
func alerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	all := make(map[string]rulefmt.Rule)
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			all[rule.Alert] = rule
		}
	}
	return all
}

// Goal: each alert can fire. Method: Prometheus's own parser reads the rules, and every name and
// label in them is exported.
func TestTheAlertsNameWhatIsExported(t *testing.T) {
	t.Parallel()
	all := exported(t)
	for name, rule := range alerts(t) {
		for _, problem := range all.check(rule.Expr) {
			t.Errorf("%s: %s", name, problem)
		}
		if rule.Labels["severity"] == "" || rule.Annotations["summary"] == "" {
			t.Errorf("%s has no severity or no summary", name)
		}
	}
}

// cause is what an alert fires for, and what it is silent for, as promtool writes series: one value
// every 30 s, of which there are 40.
type cause struct {
	fires, silent []string
	lasts         bool // also when nothing is exported any more
}

// quiet is what one client without a watchdog exports, all that is deployed.
var quiet = []string{
	`redlatch_holds{job="a",instance="i"} 1x40`, `redlatch_protected_holds{job="a",instance="i"} 0x40`,
	`redlatch_watchdogs{job="a",instance="i"} 0x40`, `redlatch_oldest_hold_seconds{job="a",instance="i",kind="mutex"} 2x40`,
}

// causes has each alert.
var causes = map[string]cause{
	"RedlatchHoldLost": {
		fires:  []string{`redlatch_losses_total{job="a",instance="i",kind="mutex",reason="gone"} 0x35 1x5`},
		silent: []string{`redlatch_losses_total{job="a",instance="i",kind="mutex",reason="ended"} 0+1x40`},
	},
	"RedlatchRenewalsLate": {
		fires:  []string{`redlatch_late_renewals_total{job="a",instance="i",kind="mutex"} 0x35 1x5`},
		silent: []string{`redlatch_late_renewals_total{job="a",instance="i",kind="mutex"} 7x40`},
	},
	"RedlatchRenewalsFail": {
		fires:  []string{`redlatch_failed_renewals_total{job="a",instance="i"} 0x30 1+1x10`},
		silent: []string{`redlatch_failed_renewals_total{job="a",instance="i"} 7x40`},
	},
	"RedlatchLittleMarginLeft": {
		fires: []string{`redlatch_renewal_margin_seconds_bucket{job="a",instance="i",kind="mutex",le="1"} 0+1x40`,
			`redlatch_renewal_margin_seconds_bucket{job="a",instance="i",kind="mutex",le="+Inf"} 0+1x40`},
		silent: []string{`redlatch_renewal_margin_seconds_bucket{job="a",instance="i",kind="mutex",le="17.5"} 0x40`,
			`redlatch_renewal_margin_seconds_bucket{job="a",instance="i",kind="mutex",le="20"} 0+1x40`,
			`redlatch_renewal_margin_seconds_bucket{job="a",instance="i",kind="mutex",le="+Inf"} 0+1x40`},
	},
	"RedlatchWaitsLong": {
		fires: []string{`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="acquired",le="30"} 0x40`,
			`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="acquired",le="60"} 0+1x40`,
			`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="acquired",le="+Inf"} 0+1x40`},
		silent: []string{`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="acquired",le="1"} 0+1x40`,
			`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="acquired",le="+Inf"} 0+1x40`,
			`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="not_acquired",le="60"} 0x40`,
			`redlatch_wait_duration_seconds_bucket{job="a",kind="fair",outcome="not_acquired",le="+Inf"} 0+9x40`},
	},
	"RedlatchAcquisitionsFail": {
		fires:  []string{`redlatch_wait_duration_seconds_count{job="a",kind="mutex",outcome="unknown"} 0+1x40`},
		silent: []string{`redlatch_wait_duration_seconds_count{job="a",kind="mutex",outcome="not_acquired"} 0+1x40`},
	},
	"RedlatchUnlockForced": {
		fires:  []string{`redlatch_forced_unlocks_total{job="a",instance="i",kind="mutex"} 0x35 1x5`},
		silent: []string{`redlatch_forced_unlocks_total{job="a",instance="i",kind="mutex"} 1x40`},
	},
	"RedlatchHoldOld": {
		fires:  []string{`redlatch_oldest_hold_seconds{job="a",instance="i",kind="mutex"} 4000+30x40`},
		silent: []string{`redlatch_oldest_hold_seconds{job="a",instance="i",kind="mutex"} 0+30x40`},
	},
	"RedlatchUnprotected": {
		fires:  []string{`redlatch_protected_holds{job="a",instance="i"} 3x40`, `redlatch_watchdogs{job="a",instance="i"} 0x40`},
		silent: []string{`redlatch_protected_holds{job="a",instance="i"} 0x40`, `redlatch_watchdogs{job="a",instance="i"} 0x40`},
	},
	"RedlatchWatchdogsFew": {
		fires:  []string{`redlatch_watchdog_alive{job="w",instance="i"} 1x40`},
		lasts:  true, // no watchdog is left
		silent: []string{`redlatch_watchdog_alive{job="w",instance="i"} 3x40`},
	},
	"RedlatchWatchdogBlind": {
		fires:  []string{`redlatch_watchdog_last_look_age_seconds{job="w",instance="i"} 30x40`},
		silent: []string{`redlatch_watchdog_last_look_age_seconds{job="w",instance="i"} 0.2x40`},
	},
	"RedlatchWatchdogLate": {
		fires:  []string{`redlatch_watchdog_late_visits_total{job="w",instance="i"} 0x35 1x5`, `redlatch_watchdog_late_seconds{job="w",instance="i"} 9x40`},
		silent: []string{`redlatch_watchdog_late_visits_total{job="w",instance="i"} 4x40`, `redlatch_watchdog_late_seconds{job="w",instance="i"} 1x40`},
	},
	"RedlatchClientsPaused": {
		fires:  []string{`redlatch_watchdog_stalled_sessions{job="w",instance="i"} 1x40`},
		silent: []string{`redlatch_watchdog_stalled_sessions{job="w",instance="i"} 0x40`},
	},
	"RedlatchPausedTooLong": {
		fires:  []string{`redlatch_watchdog_removed_sessions_total{job="w",reason="paused too long"} 0x35 1x5`},
		silent: []string{`redlatch_watchdog_removed_sessions_total{job="w",reason="dead"} 0x35 1x5`},
	},
	"RedlatchWatchdogSkips": {
		fires:  []string{`redlatch_watchdog_skipped_total{job="w",instance="i"} 0x35 1x5`},
		silent: []string{`redlatch_watchdog_skipped_total{job="w",instance="i"} 4x40`},
	},
}

// Goal: no alert is without a cause, and the causes are series that are exported.
func TestEveryAlertHasACause(t *testing.T) {
	t.Parallel()
	named, all := alerts(t), exported(t)
	if got, want := slices.Sorted(maps.Keys(causes)), slices.Sorted(maps.Keys(named)); !slices.Equal(got, want) {
		t.Errorf("causes of %q, alerts %q", got, want)
	}
	for alert, c := range causes {
		for _, line := range slices.Concat(c.fires, c.silent) {
			if name, _, _ := strings.Cut(line, "{"); all[name] == nil {
				t.Errorf("%s: %s is not exported", alert, name)
			}
		}
	}
}

// Goal: each alert fires for its cause, and is silent without it, when it is over, and where only one client is
// deployed. Method: promtool evaluates the rules at 19 min, and at 60 min, when the series have ended.
func TestEveryAlertFiresForItsCauseAlone(t *testing.T) {
	t.Parallel()
	promtool := program(t, "promtool")
	rules, err := filepath.Abs(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	fmt.Fprintf(&file, "rule_files: [%q]\nevaluation_interval: 30s\ntests:\n", rules)
	for _, alert := range slices.Sorted(maps.Keys(causes)) {
		over := none
		if causes[alert].lasts {
			over = one
		}
		writeCase(&file, alert, causes[alert].fires, one, over)
		writeCase(&file, alert, causes[alert].silent, none, over)
		writeCase(&file, alert, quiet, none, none)
	}
	path := filepath.Join(t.TempDir(), "test.yml")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, file.String())
	}
}

// one and none are how many series of an alert there are, as promtool writes it.
const one, none = "[{labels: '{}', value: 1}]", "[]"

// writeCase writes one test of promtool.
func writeCase(file *strings.Builder, alert string, lines []string, want, over string) {
	fmt.Fprintf(file, "  - interval: 30s\n    input_series:\n")
	for _, line := range lines {
		series, values, _ := strings.Cut(line, "} ")
		fmt.Fprintf(file, "      - {series: '%s}', values: '%s'}\n", series, values)
	}
	fmt.Fprintf(file, "    promql_expr_test:\n")
	for at, samples := range map[string]string{"19m": want, "60m": over} {
		fmt.Fprintf(file, "      - {expr: 'count(ALERTS{alertname=%q,alertstate=\"firing\"})', eval_time: %s, exp_samples: %s}\n", alert, at, samples)
	}
}

// program is the path of a program of Debian's package prometheus, without which the test is skipped.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: scripts/need prometheus", name)
	}
	return path
}
