package main

import (
	"context"
	"fmt"
	"sync"
)

// contest is one table of the page: who takes part, what each of them does in a round, and which of
// the figures are shown.
type contest struct {
	name string // of its results
	part string // -only selects by it
	// extra says that it is measured only if its part is asked for.
	extra       bool
	title, note string
	rounds      int
	rows        []row
	// together says that all rows are measured at the same time: what they need is time rather than
	// a processor.
	together bool
	columns  []column
	goals    []goal
}

// row is one line of the table.
type row struct {
	name  string
	base  string // the row that its ratios are over
	slice func(ctx context.Context, round int) (figures, error)
}

// column is one figure of the table.
type column struct {
	figure string
	format string // a share is shown in percent if it ends with a percent sign
	head   string // the figure, unless it is named here
	// contest has the figure, if it is not the table's own.
	contest string
	// over says that the ratio to the row's base is shown, and total that the rounds are added up.
	// Otherwise the median is shown.
	over, total bool
}

// run has the rows take turns. Each round begins with another row, so that no row always follows the
// same one.
func (c contest) run(ctx context.Context, r results) error {
	r[c.name] = map[string][]figures{}
	if c.together {
		return c.atOnce(ctx, r[c.name])
	}
	for round := range c.rounds {
		for i := range c.rows {
			row := c.rows[(i+round)%len(c.rows)]
			f, err := row.slice(ctx, round)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", c.name, row.name, err)
			}
			r[c.name][row.name] = append(r[c.name][row.name], f)
		}
	}
	return nil
}

// atOnce measures each row once, all at the same time.
func (c contest) atOnce(ctx context.Context, rows map[string][]figures) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var first error
	var measuring sync.WaitGroup
	for _, row := range c.rows {
		measuring.Go(func() {
			f, err := row.slice(ctx, 0)
			mu.Lock()
			defer mu.Unlock()
			rows[row.name] = []figures{f}
			if err != nil && first == nil {
				first = fmt.Errorf("%s: %s: %w", c.name, row.name, err)
				cancel()
			}
		})
	}
	measuring.Wait()
	return first
}
