package explore

import (
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/robustness/internal/mutation"
)

// counted are the counters that can be explored, and to what depth the tests do so.
var counted = []struct {
	name  string
	depth int
	of    counters
}{
	{"a semaphore, two slots and Redisson", 6, counters{verbs: []ask{{take, 1}, {put, 1}, {drain, 0}}, start: 1}},
	{"a semaphore that is full", 7, counters{verbs: []ask{{put, 1}}, start: script.MaxCount - 1, had: 2}},
	{"a latch, two slots and Redisson", 6, counters{verbs: []ask{{set, 2}, {countDown, 0}}, start: absent, latch: true}},
}

func exploringCounter(t *testing.T, name string, bound Bound, change func(c *counters), mutations ...mutation.Mutation) Result {
	t.Helper()
	server := newRedis(mutations)
	defer server.mini.Close()
	var c counters
	for _, one := range counted {
		if one.name == name {
			c = one.of
		}
	}
	c.world = &world{redis: server}
	change(&c)
	r := explore[tally](&c, bound)
	r.Kind, r.Scripts = name, len(server.outcomes)
	for _, m := range mutations {
		if !server.mutated[m] {
			t.Fatalf("script %s has no %q, or was not run", m.Script, m.Old)
		}
	}
	return r
}

// Goal: a numbered request for a counter happens once, or not at all, as its sender is told. Method:
// everything that may happen to two requests at a time, up to a depth: they are lost, repeated, late, and
// given up.
func TestEveryInterleavingOfCountersKeepsThePromises(t *testing.T) {
	t.Parallel()
	for _, one := range counted {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			inTheDepth(t, one.depth, 2, func(bound Bound) Result { return exploringCounter(t, one.name, bound, func(*counters) {}) })
		})
	}
}

// Goal: what would be a defect of a numbered request is found. Method: each mutation is put into the text of
// its script. One changes what a client does.
func TestLongDefectsOfCountersAreFound(t *testing.T) {
	t.Parallel()
	const semaphore, full, latch = "a semaphore, two slots and Redisson", "a semaphore that is full", "a latch, two slots and Redisson"
	for _, m := range []struct {
		what, counter string
		change        func(c *counters)
		mutation.Mutation
	}{
		{"a refusal that was sent twice is not cancelled", semaphore, func(c *counters) { c.hasty = true }, mutation.Mutation{}},
		{"a repeated acquisition takes twice", semaphore, nil, mutation.In("semaphore_acquire", "if before then", "if false then")},
		{"a repeated release puts back twice", semaphore, nil, mutation.In("semaphore_add", "if before then", "if false then")},
		{"a repeated draining finds nothing", semaphore, nil, mutation.In("semaphore_drain", "if before then", "if false then")},
		{"a repeated count-down counts twice", latch, nil, mutation.In("latch_count_down", "if before then", "if false then")},
		{"a repeated setting is refused", latch, nil, mutation.In("counter_set", "if before then", "if false then")},
		{"a late copy takes permits", semaphore, nil, mutation.In("semaphore_acquire", "and tonumber(answer) or too_late", "and tonumber(answer) or nil")},
		{"a late copy of a draining takes permits", semaphore, nil, mutation.In("semaphore_drain", "return remember(0)", "return 0")},
		{"a late copy of a refused release puts back", full, nil, mutation.In("semaphore_add", "return remember(-4)", "return -4")},
		{"a late copy closes a latch", latch, nil, mutation.In("counter_set", "return remember(0)", "return 0")},
		{"a late copy counts a closed latch down", latch, nil, mutation.In("latch_count_down", "return remember(0)", "return 0")},
		{"a cancellation puts nothing back", semaphore, nil, mutation.In("semaphore_cancel", "write(permits + taken", "write(permits")},
		{"a cancellation puts back what nobody took", semaphore, nil, mutation.In("semaphore_cancel", "if taken == 0 or not permits", "taken = math.max(taken, 1)\nif not permits")},
		{"a cancellation leaves no record", semaphore, nil, mutation.In("semaphore_cancel", "return remember(0)", "return 0")},
	} {
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			change, mutations := m.change, []mutation.Mutation{m.Mutation}
			if change == nil {
				change = func(*counters) {}
			} else {
				mutations = nil
			}
			r := exploringCounter(t, m.counter, Bound{Depth: 8, States: 500_000, Until: time.Now().Add(time.Hour)}, change, mutations...)
			if r.Violation == nil {
				t.Fatalf("was not found: %v", r)
			}
			t.Logf("%v\n%v", r, r.Violation)
		})
	}
}
