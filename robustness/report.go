package robustness

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// row is the result of a drill for one level.
type row struct {
	drill, level string
	grants       int
	over         time.Duration // of the traffic
	overlaps     int
	fenced       bool
	reused       int // tokens
	gap          time.Duration
}

// sum is the row of traffic that ended at a moment, with the moment of the first fault.
func (c *traffic) sum(drill string, firstFault, until time.Duration) row {
	spans := c.history.all()
	r := row{
		drill: drill, level: c.level.name, grants: len(spans), over: until, fenced: c.level.fenced,
		overlaps: overlaps(spans), gap: longestGap(spans, c.brief(), firstFault, until),
	}
	if c.level.fenced {
		r.reused = reusedTokens(spans)
	}
	return r
}

// report has the results of all drills.
type report struct {
	mu   sync.Mutex
	rows map[string][]row
}

func (r *report) add(rows []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rows == nil {
		r.rows = make(map[string][]row)
	}
	for _, one := range rows {
		r.rows[one.drill] = append(r.rows[one.drill], one)
	}
}

const heading = `| Drill | Level | Grants | Grants/s | Overlaps | Tokens given again | Longest without service |
|---|---|---:|---:|---:|---:|---:|
`

// table is the report of these drills in Markdown.
func (r *report) table(drills ...string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	b.WriteString(heading)
	for _, drill := range drills {
		for _, one := range r.rows[drill] {
			b.WriteString(one.line())
		}
	}
	return b.String()
}

func (r row) line() string {
	reused := "–"
	if r.fenced {
		reused = fmt.Sprint(r.reused)
	}
	return fmt.Sprintf("| %s | %s | %d | %.0f | %d | %s | %.1f s |\n",
		r.drill, r.level, r.grants, float64(r.grants)/r.over.Seconds(), r.overlaps, reused, r.gap.Seconds())
}
