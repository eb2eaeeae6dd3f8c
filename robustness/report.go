package robustness

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// row is what a drill came to for one level.
type row struct {
	drill, level string
	grants       int
	over         time.Duration // of the traffic
	overlaps     int
	fenced       bool
	stale        int // writes that were let through
	refused      int // writes
	again        int // tokens
	gap          time.Duration
}

// sum is the row of a crew whose traffic went on until a moment, and whose servers were
// first hurt at another.
func (c *crew) sum(drill string, hurt, until time.Duration) row {
	spans := c.history.all()
	r := row{
		drill: drill, level: c.level.name, grants: len(spans), over: until, fenced: c.level.fenced,
		overlaps: overlaps(spans), gap: longestGap(spans, c.brief(), hurt, until),
	}
	r.stale, r.refused = c.stale()
	if c.level.fenced {
		r.again = tokensAgain(spans)
	}
	return r
}

// report is what all drills came to.
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

const heading = `| Drill | Level | Grants | Grants/s | Overlaps | Stale writes let through | Writes refused | Tokens given again | Longest without service |
|---|---|---:|---:|---:|---:|---:|---:|---:|
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
	refused, again := "–", "–"
	if r.fenced {
		refused, again = fmt.Sprint(r.refused), fmt.Sprint(r.again)
	}
	return fmt.Sprintf("| %s | %s | %d | %.0f | %d | %d | %s | %s | %.1f s |\n",
		r.drill, r.level, r.grants, float64(r.grants)/r.over.Seconds(), r.overlaps, r.stale, refused, again, r.gap.Seconds())
}
