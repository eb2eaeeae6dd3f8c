package main

import "fmt"

// goal is a number to reach, and what was reached.
type goal struct {
	what    string
	reached float64
	limit   float64
	atMost  bool   // otherwise at least
	remark  string // what else to know about it
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
			atLeast(0.9, against(nameRaw), "pairs/s, × raw scripts"+at),
			atMost(1.3, ratios(ours, t.runs[nameRaw], pairRun.cpuMicros), "own CPU a pair, × raw scripts"+at),
			atLeast(1.4, against(nameRueidislock), "pairs/s, × rueidislock"+at),
			atLeast(2.1, against(nameRedislock), "pairs/s, × redislock"+at),
			atLeast(3, against(nameRedsync), "pairs/s, × redsync"+at),
			atLeast(2, against(nameRedisson), "pairs/s, × Redisson"+at),
			atMost(3, column(ours, func(r pairRun) float64 { return r.per(r.allocs) }), "allocations a pair"+at),
		}
	case 1:
		request := ratios(t.runs[nameRequest], t.runs[nameRawRequest], pairRun.micros)
		return []goal{
			atMost(1.1, ratios(ours, t.runs[nameRaw], pairRun.micros), "time of a pair, × raw scripts"+at),
			atMost(1.1, request, "the same, both below a cancellable ctx"+at),
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
		atMost(1.05, column(ours, hotRun.writesPerCycle), "round trips a cycle"+where),
		atLeast(0.99, column(ours, func(r hotRun) float64 { return r.inOrder() }), "grants in the order of arrival"+where),
	}
	goals = append(goals, justice(ledgers, 3, where)...)
	cohort := ratios(ledgers[nameCohort], ledgers[nameRedlatch], ledger.perSecond)
	return append(goals, atLeast(29, cohort, "cycles/s with a cohort, × without"+where))
}

func crossGoals(runs map[string][]ledger, pingPongs []float64) []goal {
	ours := runs[nameRedlatch]
	var overPingPong []float64
	for i, run := range ours {
		overPingPong = append(overPingPong, median(run.crossings())/pingPongs[i])
	}
	const where = ", two processes"
	goals := []goal{
		atMost(2, median(overPingPong), "hand-over to the other process, × ping-pong"+where),
		atLeast(0.4, column(ours, ledger.smallestShare), "share of the process with fewer grants"+where),
	}
	goals = append(goals, justice(runs, 10, where)...)
	cohort := runs[nameCohort]
	return append(goals,
		atLeast(5, againstBest(cohort, runs), "cycles/s with a cohort, × the best rival"+where),
		atLeast(0.4, column(cohort, ledger.smallestShare), "share of the process with fewer grants, with a cohort"+where))
}

// againstBest compares with the rival that makes the most cycles.
func againstBest(ours []ledger, runs map[string][]ledger) float64 {
	var best []ledger
	for _, name := range append(rivals(), nameRedislockPiped, nameRedsyncPiped, nameEtcd) {
		if column(runs[name], ledger.perSecond) > column(best, ledger.perSecond) {
			best = runs[name]
		}
	}
	return ratios(ours, best, ledger.perSecond)
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
			faster.remark = fmt.Sprintf("longest wait of %s: %.0f × its mean, in grants", name, unjust)
		}
		goals = append(goals, faster)
	}
	return goals
}

// fairGoal is what a grant costs the server while many wait for a fair lock.
func fairGoal(micros float64) goal {
	return atMost(100, micros, "time of Redis for a grant of a fair lock, µs, 5000 waiters")
}
