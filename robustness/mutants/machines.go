package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// machine is a test that searches for defects by itself, for as long as it may.
type machine struct {
	name, folder, test string
	runs               *regexp.Regexp // the files whose code it runs
}

var machines = []machine{
	{"exploration", "robustness/explore", "^TestEveryInterleavingKeepsThePromises$", regexp.MustCompile(`^internal/script/.*\.(lua|inc)$`)},
	{"simulation", "robustness/sim", "^TestNoPromiseBreaksWhateverGoesWrong$", regexp.MustCompile(`^(internal|driver/cluster)/`)},
	{"products in fake time", "tests/product", "^TestAnythingGoesWithAnything$", regexp.MustCompile(`^internal/`)},
	{"products on real servers", "tests/product", "^TestAnythingGoesOnRealServers$", regexp.MustCompile(`^internal/`)},
	{"histories", "robustness/histories", "^TestEveryHistoryIsLinearizable$", regexp.MustCompile(`^internal/`)},
}

// found is what a machine prints first when it has found something.
var found = regexp.MustCompile(`^\x16?\s*--- FAIL: (\w+)|(^panic: .*|^fatal error: .*|a plan fails)`)

// search lets machines search for the defects of chosen mutants, some at a time, and writes down the row of each.
func (l *laboratory) search(ctx context.Context, chosen []mutant, jobs int, budget time.Duration) error {
	os.Setenv("REDLATCH_SIM", "1h") // the other machines begin again until their time is over
	suites := make([]*suite, len(machines))
	for i, one := range machines {
		s, err := l.compile(ctx, one.folder)
		if err != nil {
			return err
		}
		s.sign, s.limit = found, budget
		s.flags = append(s.flags, "-test.v=test2json", "-test.failfast", "-test.count=1000", "-test.parallel=20")
		if why, output, err := s.run(ctx, l.scratch, 0, one.test); err != nil || why != hangs {
			return fmt.Errorf("%s on the code as it is: %s, %v\n%s", one.name, why, err, output)
		}
		suites[i] = s
	}
	var all sync.WaitGroup
	var writes sync.Mutex
	places, failed := make(chan struct{}, jobs), make([]error, len(chosen))
	for i, m := range chosen {
		places <- struct{}{}
		all.Go(func() {
			row, err := l.seek(ctx, suites, m, budget)
			writes.Lock()
			defer writes.Unlock()
			if err == nil {
				err = rewritePage(l.tree, trackRecord, func(text string) string { return tabulated(text, m.what, row) })
			}
			failed[i] = err
			fmt.Printf("%d of %d: %s: %s\n", i+1, len(chosen), m.what, row)
			<-places
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// seek is the row of a mutant: what each machine finds.
func (l *laboratory) seek(ctx context.Context, suites []*suite, m mutant, budget time.Duration) (row string, err error) {
	cells := make([]string, len(machines))
	for i, one := range machines {
		if cells[i] = "–"; !one.runs.MatchString(m.file) {
			continue
		}
		began := time.Now()
		why, _, err := suites[i].run(ctx, l.scratch, m.id, one.test)
		if err != nil {
			return "", err
		}
		if cells[i] = fmt.Sprintf("%.0f s", time.Since(began).Seconds()); why == hangs {
			cells[i] = fmt.Sprintf("> %.0f s", budget.Seconds())
		}
	}
	return strings.Join(cells, " | "), nil
}

// trackRecord is the page with the table of defects and machines, and where the table begins and ends there.
const (
	trackRecord = "docs/how-we-know.md"
	tableBegins = "<!-- make mutants MUTANTS='-machines 15s' -->\n"
	tableEnds   = "<!-- the end of the table -->\n"
	notTried    = "not tried"
)

// tabulated is a page with a row for each entry by hand whose code a machine runs. The row of one defect is new.
func tabulated(page, defect, row string) string {
	before, rest, _ := strings.Cut(page, tableBegins)
	table, after, _ := strings.Cut(rest, tableEnds)
	known := make(map[string]string)
	for line := range strings.Lines(table) {
		if what, cells, is := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |\n"), " | "); is {
			known[what] = cells
		}
	}
	known[defect] = row
	head, line := "| Defect", "|---"
	for _, one := range machines {
		head, line = head+" | "+one.name, line+"|---"
	}
	table = head + " |\n" + line + "|\n"
	for _, e := range hand {
		if slices.ContainsFunc(machines, func(one machine) bool { return one.runs.MatchString(e.file) }) {
			table += "| " + e.when + " | " + cmp.Or(known[e.when], notTried) + " |\n"
		}
	}
	return before + tableBegins + table + tableEnds + after
}
