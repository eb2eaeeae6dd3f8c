package main

import (
	"fmt"
	"math"
)

// goal is a number to reach, and what was reached.
type goal struct {
	what    string
	limit   float64
	atMost  bool // otherwise at least
	of      func(r results) float64
	remarks func(r results) string // what else to know about it; may be nil

	reached float64
	remark  string
}

func atLeast(limit float64, what string, of func(results) float64) goal {
	return goal{what: what, limit: limit, of: of}
}

func atMost(limit float64, what string, of func(results) float64) goal {
	return goal{what: what, limit: limit, of: of, atMost: true}
}

func (g *goal) evaluate(r results) {
	g.reached = g.of(r)
	if g.remarks != nil {
		g.remark = g.remarks(r)
	}
}

// measured says whether there is a figure. No goal is reached with a figure of 0.
func (g goal) measured() bool { return g.reached != 0 && !math.IsNaN(g.reached) }

// met says whether the goal was reached. What was not measured was not reached.
func (g goal) met() bool {
	if g.atMost {
		return g.measured() && g.reached <= g.limit
	}
	return g.measured() && g.reached >= g.limit
}

func (g goal) wanted() string {
	if g.atMost {
		return fmt.Sprintf("≤ %.2f", g.limit)
	}
	return fmt.Sprintf("≥ %.2f", g.limit)
}

func (g goal) verdict() string {
	switch {
	case !g.measured():
		return "**not measured**"
	case g.met():
		return "met"
	}
	return "**missed**"
}

// of is the median of a row's figure.
func of(contest, row, figure string) func(results) float64 {
	return func(r results) float64 { return r.median(contest, row, figure) }
}

// over is the ratio of two rows.
func over(contest, row, base, figure string) func(results) float64 {
	return func(r results) float64 { return r.ratio(contest, row, base, figure) }
}

// worst is the greatest of several numbers, or the smallest. It is NaN if none is known.
func worst(greatest bool, all ...func(results) float64) func(results) float64 {
	return func(r results) float64 {
		worst := math.NaN()
		for _, of := range all {
			if v := of(r); math.IsNaN(worst) || v > worst == greatest && v != worst && !math.IsNaN(v) {
				worst = v
			}
		}
		return worst
	}
}

// goroutines counts them in words.
func goroutines(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}

// pairGoals are the goals of one level of the first table.
func pairGoals(contest string, n int) []goal {
	at := " at " + goroutines(n)
	goals := []goal{
		atLeast(1, "pairs/s on go-redis, × the best mode of redislock"+at,
			overBest(contest, nameOnGoRedis, figureRate, func(c contestant) bool { return c.module == moduleRedislock })),
		atMost(25, "allocations a pair on go-redis"+at, of(contest, nameOnGoRedis, figureAllocations)),
	}
	if n >= manyGoroutines {
		goals = append(goals, atLeast(1.5, "pairs/s, × the best mode of the best rival"+at, overBest(contest, nameRedlatch, figureRate, isRival)))
	}
	switch n {
	case mostGoroutines:
		return append(goals,
			atLeast(0.9, "pairs/s, × raw scripts"+at, over(contest, nameRedlatch, nameRaw, figureRate)),
			atMost(1.05, "own CPU a pair, × raw scripts"+at, over(contest, nameRedlatch, nameRaw, figureCPU)),
			atMost(3, "allocations a pair"+at, of(contest, nameRedlatch, figureAllocations)),
			atMost(4, "the same, Mutex made each time"+at, of(contest, nameMade, figureAllocations)))
	case 1:
		return append(goals,
			atMost(1.1, "time of a pair, × raw scripts"+at, over(contest, nameRedlatch, nameRaw, figureTime)),
			atMost(1.1, "time of a pair below a cancellable ctx, × without"+at, over(contest, nameRequest, nameRedlatch, figureTime)),
			atMost(1.0, "the same, × redislock below one"+at, over(contest, nameRequest, nameRedislockRequest, figureTime)))
	}
	return goals
}

// isRival says that a contestant is a library of somebody else.
func isRival(c contestant) bool { return c.module != "" && c.module != moduleRedlatch }

// overBest is the ratio of a row to the row of the rival that has the most.
func overBest(contest, row, figure string, rival func(contestant) bool) func(results) float64 {
	return func(r results) float64 {
		best, most := "", 0.
		for _, c := range racers() {
			if n := r.median(contest, c.name, figure); rival(c) && n > most {
				best, most = c.name, n
			}
		}
		return r.ratio(contest, row, best, figure)
	}
}

// fairness are the goals that both races for one lock share: nobody waits for much longer than the
// others, and that is not paid for with speed.
func fairness(contest string, limit float64, where string) []goal {
	goals := []goal{
		atLeast(1, "waits that ended with the lock"+where, func(r results) float64 { return least(r.values(contest, nameRedlatch, figureServed)) }),
		atMost(limit, "longest ÷ mean wait"+where, of(contest, nameRedlatch, figureUnfairness)),
		atMost(limit, "the same, counted in grants"+where, of(contest, nameRedlatch, figureUnfairGrants)),
	}
	for _, rival := range []string{nameRueidislock, nameRedislock, nameRedsync, nameRedisson} {
		g := atLeast(1, "cycles/s, × "+rival+where, over(contest, nameRedlatch, rival, figureCycles))
		g.remarks = func(r results) string {
			if unfair := r.median(contest, rival, figureUnfairGrants); unfair > limit {
				return fmt.Sprintf("longest wait of %s: %.0f × its mean, in grants", rival, unfair)
			}
			return ""
		}
		goals = append(goals, g)
	}
	return goals
}

func hotGoals() []goal {
	const where = ", one process"
	goals := []goal{
		atMost(1.05, "round trips a cycle"+where, of("hot", nameRedlatch, figureWritesEach)),
		atLeast(0.99, "grants in the order of arrival"+where, of("hot", nameRedlatch, figureInOrder)),
	}
	goals = append(goals, fairness("hot", 2, where)...)
	return append(goals, atLeast(29, "cycles/s with a cohort, × without"+where, over("hot", nameCohort, nameRedlatch, figureCycles)))
}

func crossGoals() []goal {
	const where = ", two processes"
	goals := []goal{
		atMost(2, "hand-over to the other process, × ping-pong"+where, over("crossing", nameRedlatch, namePingPong, figureHandOver)),
		atLeast(0.4, "share of the process with fewer grants"+where, of("crossing", nameRedlatch, figureLesserShare)),
	}
	goals = append(goals, fairness("crossing", 10, where)...)
	return append(goals,
		atLeast(5, "cycles/s with a cohort, × the best rival"+where, overBest("crossing", nameCohort, figureCycles, isRival)),
		atLeast(0.4, "share of the process with fewer grants, with a cohort"+where, of("crossing", nameCohort, figureLesserShare)))
}

// shareGoals are the goals beside each other implementation. The worst section counts.
func shareGoals() (goals []goal) {
	for _, other := range []string{nameRedlatch, nameRedisson, nameNode} {
		var shares, waits []func(results) float64
		for _, section := range shareSections {
			shares = append(shares, of("shares", shareRow(other, section), figureShareSecond))
			waits = append(waits, of("shares", shareRow(other, section), figureLongestRatio))
		}
		least := 0.25
		if other == nameRedlatch {
			least = 0.4
		}
		goals = append(goals,
			atLeast(least, "share of "+other+" beside redlatch", worst(false, shares...)),
			atMost(3, "longest wait of "+other+", × that of redlatch beside it", worst(true, waits...)))
	}
	return goals
}
