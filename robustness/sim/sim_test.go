package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/random"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // scripts leave much behind
	random.Replace(drawn)
	redistest.Main(m)
}

// Goal: a failure can be repeated. Method: every theme twice; what happened has to be the same,
// line by line.
func TestLongTheSameSeedHasTheSameStory(t *testing.T) {
	for seed := range uint64(len(themes) * redistest.Stretch(1)) {
		a, b := Run(t, planFor(seed)), Run(t, planFor(seed))
		if a.Hash == b.Hash {
			continue
		}
		t.Errorf("seed %d, %s: hash %016x, and then %016x", seed, NewPlan(seed).Theme, a.Hash, b.Hash)
		for i, line := range a.Story {
			if i >= len(b.Story) || line != b.Story[i] {
				t.Logf("line %d differs:\n%s\n%s", i, line, strings.Join(b.Story[min(i, len(b.Story)-1):min(i+1, len(b.Story))], ""))
				break
			}
		}
	}
}

// Goal: nothing that goes wrong breaks a promise. Method: many seeds; REDLATCH_STRETCH times as many
// as there are themes, or as many as go into the time of REDLATCH_SIM. REDLATCH_HOURS simulated hours
// are enough. The seeds follow REDLATCH_SEED, and are those of REDLATCH_THEME alone if that is set.
func TestNoPromiseBreaksWhateverGoesWrong(t *testing.T) {
	began := time.Now()
	first, count := number("REDLATCH_SEED", 1000), uint64(len(themes)*redistest.Stretch(1))
	limit, err := time.ParseDuration(os.Getenv("REDLATCH_SIM"))
	if err == nil {
		count = 1 << 60
	}
	enough := time.Duration(number("REDLATCH_HOURS", 1_000_000)) * time.Hour
	var total Result
	theme, seeds := os.Getenv("REDLATCH_THEME"), uint64(0)
	for ; seeds < count && total.Took < enough && (limit == 0 || time.Since(began) < limit); seeds++ {
		plan := planFor(first + seeds)
		if theme != "" && plan.Theme != theme {
			continue
		}
		r := Run(t, plan)
		total.Events, total.Faults, total.Grants, total.Took = total.Events+r.Events, total.Faults+r.Faults, total.Grants+r.Grants, total.Took+r.Took
		if r.Violation != "" {
			report(t, plan)
			break
		}
	}
	t.Logf("%d seeds from %d on: %d events, %d faults, %d grants, %.0f simulated hours in %v",
		seeds, first, total.Events, total.Faults, total.Grants, total.Took.Hours(), time.Since(began).Round(time.Second))
}

// planFor is the plan of a seed, and a part of it under the race detector, which is slow.
func planFor(seed uint64) Plan {
	plan := NewPlan(seed)
	if underRace {
		if plan.Theme == "hours" { // engines look at the clock once a second
			plan = NewPlan(seed + 1)
		}
		for _, process := range plan.Actors {
			for i, ops := range process {
				process[i] = ops[:min(len(ops), 5)]
			}
		}
	}
	return plan
}

// report shrinks a plan and prints what is left of it.
func report(t *testing.T, plan Plan) {
	t.Helper()
	t.Log("a plan fails, and is shortened now")
	smaller, r := Shrink(t, plan, 300)
	text := redistest.Must(json.Marshal(smaller))
	t.Errorf("%s: %v\nThe end of the story:\n%s\nTo keep it out, put this into testdata/NAME.json:\n%s",
		plan.Theme, r, strings.Join(r.Story[max(0, len(r.Story)-150):], "\n"), text)
}

// Goal: what was found once stays away. Method: the plans in testdata.
func TestStoriesThatWereFound(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no story to replay, %v", err)
	}
	for _, file := range files {
		if r := Run(t, readPlan(t, file)); r.Violation != "" {
			t.Errorf("%s: %v", file, r)
		}
	}
}

func readPlan(t *testing.T, file string) (plan Plan) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &plan)
	}
	if err != nil {
		t.Fatal(file, err)
	}
	return plan
}

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}
