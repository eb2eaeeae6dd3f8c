package main

import "fmt"

// goal is a number to reach, and what was reached.
type goal struct {
	what    string
	reached float64
	limit   float64
	atMost  bool   // otherwise at least
	waived  string // why it need not be reached; empty if it must
}

func atLeast(limit, reached float64, what string) goal {
	return goal{what: what, reached: reached, limit: limit}
}

func atMost(limit, reached float64, what string) goal {
	return goal{what: what, reached: reached, limit: limit, atMost: true}
}

// met says whether the goal was reached. What was not measured was not reached.
func (g goal) met() bool {
	switch {
	case g.reached == 0:
		return false
	case g.atMost:
		return g.reached <= g.limit
	}
	return g.reached >= g.limit
}

func (g goal) wanted() string {
	if g.atMost {
		return fmt.Sprintf("≤ %.2f", g.limit)
	}
	return fmt.Sprintf("≥ %.2f", g.limit)
}

func (g goal) verdict() string {
	switch {
	case g.reached == 0:
		return "**not measured**"
	case g.met():
		return "met"
	case g.waived != "":
		return g.waived
	}
	return "**missed**"
}

// goroutines counts them in words.
func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// pairGoals are the goals of one level of the first table.
func pairGoals(t pairTable) []goal {
	ours := t.runs[nameRedlatch]
	against := func(name string) float64 { return ratios(ours, t.runs[name], pairRun.perSecond) }
	at := " at " + goroutines(t.goroutines)
	switch t.goroutines {
	case mostGoroutines:
		return []goal{
			atLeast(0.85, against(nameRaw), "pairs/s, × raw limit"+at),
			atLeast(1.3, against(nameRueidislock), "pairs/s, × rueidislock"+at),
			atLeast(2, against(nameRedislock), "pairs/s, × redislock"+at),
			atLeast(3.5, against(nameRedsync), "pairs/s, × redsync"+at),
			atMost(10, column(ours, func(r pairRun) float64 { return r.per(float64(r.allocs)) }), "allocations a pair"+at),
		}
	case 1:
		request := ratios(t.runs[nameRequest], t.runs[nameTripsRequest], pairRun.micros)
		return []goal{
			atMost(1.15, ratios(ours, t.runs[nameTrips], pairRun.micros), "time of a pair, × two bare round trips"+at),
			atMost(1.15, request, "the same, both below a cancellable ctx"+at),
		}
	}
	return nil
}

func hotGoals(runs map[string][]hotRun) []goal {
	ours := runs[nameRedlatch]
	ledgers := map[string][]ledger{}
	for name, runs := range runs {
		for _, r := range runs {
			ledgers[name] = append(ledgers[name], r.ledger)
		}
	}
	const where = ", one process"
	goals := []goal{
		atMost(1.05, column(ours, func(r hotRun) float64 { return r.per(float64(r.writes)) }), "round trips a cycle"+where),
		atLeast(0.99, column(ours, func(r hotRun) float64 { return r.ledger.inOrder() }), "grants in the order of arrival"+where),
	}
	return append(goals, justice(ledgers, 3, where)...)
}

func crossGoals(runs map[string][]ledger, floors []float64) []goal {
	var overFloor []float64
	for i, run := range runs[nameRedlatch] {
		overFloor = append(overFloor, median(run.crossings())/floors[i])
	}
	goals := []goal{atMost(2.5, median(overFloor), "hand-over between processes, × (publish + delivery + script)")}
	return append(goals, justice(runs, 10, ", two processes")...)
}

// justice are the goals that both races for one lock share: nobody waits for much
// longer than the others, and that is not paid for with speed.
func justice(runs map[string][]ledger, limit float64, where string) []goal {
	ours := runs[nameRedlatch]
	goals := []goal{
		atLeast(1, least(ours, ledger.served), "waits that ended with the lock"+where),
		atMost(limit, column(ours, ledger.longestToMean), "longest ÷ mean wait"+where),
		atMost(limit, column(ours, ledger.longestToMeanInGrants), "the same, counted in grants"+where),
	}
	for _, name := range rivals() {
		faster := atLeast(1, ratios(ours, runs[name], ledger.perSecond), "cycles/s, × "+name+where)
		if unjust := column(runs[name], ledger.longestToMeanInGrants); unjust > limit {
			faster.waived = fmt.Sprintf("not as just: %.0f times the mean wait", unjust)
		}
		goals = append(goals, faster)
	}
	return goals
}
