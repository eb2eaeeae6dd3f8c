package main

import (
	"context"
	"fmt"
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
	columns     []column
	goals       []goal
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

// columns are figures with the same format.
func columns(format string, figures ...string) (all []column) {
	for _, figure := range figures {
		all = append(all, column{figure: figure, format: format})
	}
	return all
}

// run has the rows take turns. Each round begins with another row, so that no row always follows the
// same one.
func (c contest) run(ctx context.Context, r results) error {
	rows := map[string][]figures{}
	r[c.name] = rows
	measure := func(row row, round int) error {
		f, err := row.slice(ctx, round)
		for again := 0; err != nil && c.extra && again < 2; again++ { // a busy machine takes too long now and then
			f, err = row.slice(ctx, round)
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", c.name, row.name, err)
		}
		rows[row.name] = append(rows[row.name], f)
		return nil
	}
	for round := range c.rounds {
		for i := range c.rows {
			if err := measure(c.rows[(i+round)%len(c.rows)], round); err != nil {
				return err
			}
		}
	}
	return nil
}
