package sim

import (
	"os"
	"strconv"
	"testing"
)

func number(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// mutations are changes to scripts that break them, and the theme that has to find each.
var mutations = []struct {
	what  string
	theme string
	Mutation
	from uint64 // the round to begin with, if it takes many
}{
	{"a release ignores the owner", "mutex", Mutation{"release", "redis.pcall(verb, lock, owner)", "redis.pcall('DEL', lock)"}, 0},
	{"everybody is granted", "mutex", Mutation{"acquire", "type(found) == 'table'", "false"}, 0},
	{"a TTL is lowered by a renewal", "mutex", Mutation{"renew", "raise(lock, lease)", "redis.call('PEXPIRE', lock, ARGV[5 * i - 1] - 500)"}, 0},
	{"a token that is not counted", "fenced", Mutation{"acquire", "size == 1 and redis.pcall('INCR', counter) or redis.pcall('INCRBY', counter, size)", "tonumber(redis.call('GET', counter) or 1)"}, 0},
	{"a reader without a timeout key", "read-write", Mutation{"rw_acquire", "  keep_hold(KEYS[hold], lease)\n", ""}, 0},
	{"a release tells nobody", "read-write", Mutation{"rw_release", "return announce(ARGV[7], mode == 'read' and ARGV[8] or ARGV[9])", "return 0"}, 0},
	{"half of a Multi", "multi", Mutation{"multi_acquire", "for i = 1, #KEYS do\n  if redis.call('HSET'", "for i = 1, 1 do\n  if redis.call('HSET'"}, 0},
	{"whoever comes is granted", "fair", Mutation{"fair_acquire", "if not holder and (not first or first == owner) then", "if not holder then"}, 68},
	{"who is granted stays in the queue", "fair", Mutation{"fair_acquire", "redis.call('ZREM', deadlines, owner)", ""}, 0},
	{"a grant without PEXPIRE", "mutex", Mutation{"acquire", "  begin(lock, lease)\n", ""}, 0},
}

// Goal: a defect in a script is found. Method: each mutation is put into the text of its script, and
// a seed of its theme has to fail.
func TestMutationsOfScriptsAreFound(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.what, func(t *testing.T) {
			if underRace && m.from > 0 {
				t.Skip("it takes many seeds")
			}
			for seed := m.from * uint64(len(themes)); seed < (m.from+60)*uint64(len(themes)); seed++ {
				plan := planFor(seed)
				if plan.Theme != m.theme {
					continue
				}
				plan.Mutations = []Mutation{m.Mutation}
				if r := Run(t, plan); r.Violation != "" {
					t.Logf("after %d seeds: %s", seed/uint64(len(themes))+1, r.Violation)
					return
				}
			}
			t.Error("was not found")
		})
	}
}

// How many seeds it takes until one fails, for a defect that somebody has put into a copy of the tree.
func TestSeedsUntilOneFails(t *testing.T) {
	most := number("REDLATCH_SEEDS", 0)
	if most == 0 {
		t.Skip("REDLATCH_SEEDS is not set")
	}
	theme := os.Getenv("REDLATCH_THEME")
	tried := 0
	for seed := range most {
		if theme != "" && NewPlan(seed).Theme != theme {
			continue
		}
		tried++
		if r := Run(t, NewPlan(seed)); r.Violation != "" {
			t.Fatalf("after %d seeds, in %s: %s", tried, NewPlan(seed).Theme, r.Violation)
		}
	}
	t.Logf("none of %d seeds", tried)
}
