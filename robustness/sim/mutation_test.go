package sim

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// mutations are changes to scripts that break them, and what has to find each: an early seed of a theme, or
// the plan in a file of testdata if that takes many seeds. A file stays the same whatever becomes of the seeds. Its
// own seed draws the pauses: it changes from round to round, because a change of the library draws others.
var mutations = []struct {
	what   string
	finder string
	mutation.Mutation
}{
	{"a release ignores the owner", "mutex", mutation.In("release", "redis.pcall(verb, lock, owner)", "redis.pcall('DEL', lock)")},
	{"everybody is granted", "mutex", mutation.In("acquire", "type(found) == 'table'", "false")},
	{"a TTL is lowered by a renewal", "mutex", mutation.In("renew", "raise(lock, lease)", "redis.call('PEXPIRE', lock, ARGV[5 * i - 1] - 500)")},
	{"a token that is not counted", "fenced", mutation.In("acquire", "size == 1 and redis.pcall('INCR', counter) or redis.pcall('INCRBY', counter, size)", "tonumber(redis.call('GET', counter) or 1)")},
	{"a reader without a timeout key", "read-write", mutation.In("rw_acquire", "  keep_hold(KEYS[hold], lease)\n", "")},
	{"a release tells nobody", "read-write", mutation.In("rw_release", "return announce(ARGV[7], mode == 'read' and ARGV[8] or ARGV[9])", "return 0")},
	{"half of a Multi", "multi", mutation.In("multi_acquire", "for i = 1, #KEYS do\n  if redis.call('HSET'", "for i = 1, 1 do\n  if redis.call('HSET'")},
	{"a reader whose keys are on two servers counts as dead", "testdata/a-reader-whose-keys-are-on-two-servers-lives.json", mutation.In("rw_acquire", "if not settled then", "if settled then")},
	{"who is granted stays in the queue", "fair", mutation.In("fair_acquire", "redis.call('ZREM', deadlines, owner)", "")},
	{"a grant without PEXPIRE", "mutex", mutation.In("acquire", "  begin(lock, lease)\n", "")},
}

// Goal: a defect in a script is found. Method: each mutation is put into the text of its script, and
// a seed of its theme has to fail, or its plan.
func TestMutationsOfScriptsAreFound(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.what, func(t *testing.T) {
			for round := range 60 {
				plan := planOf(t, m.finder, uint64(round))
				plan.Mutations = []mutation.Mutation{m.Mutation}
				if r := Run(t, plan); r.Violation != "" {
					t.Logf("after %d plans: %s", round+1, r.Violation)
					return
				}
			}
			t.Error("was not found")
		})
	}
}

// planOf is the plan of a round for a finder.
func planOf(t *testing.T, finder string, round uint64) Plan {
	t.Helper()
	if strings.HasSuffix(finder, ".json") {
		plan := readPlan(t, finder)
		plan.Seed += round // the same events, at slightly other moments
		return plan
	}
	for i, theme := range themes {
		if theme.name == finder {
			return planFor(round*uint64(len(themes)) + uint64(i))
		}
	}
	t.Fatalf("no theme %s", finder)
	return Plan{}
}
