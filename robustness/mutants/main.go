package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var (
		list   = flag.Bool("list", false, "print the entries")
		only   = flag.String("only", "", "take only entries whose file, tests or sentence match this")
		sample = flag.Int("sample", 0, "take so many entries at random")
		seed   = flag.Uint64("seed", rand.Uint64(), "of the sample")
		jobs   = flag.Int("jobs", 2, "try so many at a time")
		first  = flag.Bool("baseline", true, "run the tests on the code as it is first")
		docs   = flag.Bool("docs", false, "write the last column of docs/guarantees.md")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, choose(regexp.MustCompile(*only), *sample, *seed), *jobs, *first, *list, *docs))
}

// choose takes the entries that the flags ask for.
func choose(only *regexp.Regexp, sample int, seed uint64) (chosen []mutant) {
	for _, m := range table {
		if only.MatchString(m.String()) {
			chosen = append(chosen, m)
		}
	}
	if sample > 0 && sample < len(chosen) {
		fmt.Printf("a sample of %d by seed %d\n", sample, seed)
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
		chosen = chosen[:sample]
	}
	return chosen
}

// run does what the flags ask for in the tree below the working directory, and returns the exit
// code.
func run(ctx context.Context, chosen []mutant, jobs int, first, list, docs bool) (code int) {
	tree, err := os.Getwd()
	if err == nil {
		err = checkAll(tree, table)
	}
	switch {
	case err != nil:
	case docs:
		err = writeGuarantees(tree)
	case list:
		for _, m := range chosen {
			fmt.Println(m)
		}
	default:
		return hunt(ctx, tree, chosen, jobs, first)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return 0
}

// hunt tries the mutants, some at a time, and prints what becomes of each.
func hunt(ctx context.Context, tree string, chosen []mutant, jobs int, first bool) (code int) {
	began := time.Now()
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	defer os.RemoveAll(scratch)
	b := &binaries{tree: tree, scratch: scratch, built: make(map[string]func() (string, error))}
	if first {
		if output, err := baseline(ctx, tree, chosen); err != nil {
			fmt.Fprintf(os.Stderr, "%s\nthe tests do not pass on the code as it is: %v\n", output, err)
			return 2
		}
		fmt.Printf("the tests pass on the code as it is, in %v\n", time.Since(began).Round(time.Second))
	}
	verdicts, places := make([]chan verdict, len(chosen)), make(chan struct{}, jobs)
	for i := range chosen {
		verdicts[i] = make(chan verdict, 1)
	}
	go func() {
		for i, m := range chosen {
			places <- struct{}{}
			go func() {
				verdicts[i] <- m.try(ctx, b)
				<-places
			}()
		}
	}()
	var killed, survived, wrong int
	for i, m := range chosen {
		v := <-verdicts[i]
		if ctx.Err() != nil {
			return 2
		}
		said := "killed"
		switch {
		case v.wrong != nil:
			wrong++
			said = fmt.Sprintf("ERROR: %v\n%s", v.wrong, v.output[:min(len(v.output), 2000)])
		case len(v.survived) > 0:
			survived++
			said = "SURVIVED " + strings.Join(v.survived, ", ")
		default:
			killed++
		}
		fmt.Printf("%3d of %d, %2.0f s: %v: %s\n", i+1, len(chosen), v.took.Seconds(), m, said)
	}
	fmt.Printf("%d of %d mutants were killed, %d survived, %d are errors of the table; it took %v\n",
		killed, len(chosen), survived, wrong, time.Since(began).Round(time.Second))
	switch {
	case wrong > 0:
		return 2
	case survived > 0:
		return 1
	}
	return 0
}

// baseline runs the tests of the mutants on the code as it is.
func baseline(ctx context.Context, tree string, chosen []mutant) (output string, err error) {
	all := make(map[string][]string)
	for _, m := range chosen {
		folder, names := m.split()
		all[folder] = append(all[folder], names...)
	}
	for _, folder := range slices.Sorted(maps.Keys(all)) {
		names := slices.Compact(slices.Sorted(slices.Values(all[folder])))
		for range 2 { // a machine that is busy may be too slow once
			if output, err = goTest(ctx, tree, folder, names, limit); err == nil {
				break
			}
		}
		if err != nil {
			return output, err
		}
	}
	return output, nil
}

// checkAll says what is wrong with the entries, or nil.
func checkAll(tree string, all []mutant) error {
	var wrong []string
	known := make(map[string][]string)
	tests := func(folder string) (names []string, err error) {
		if known[folder] == nil {
			known[folder], err = testsOf(filepath.Join(tree, folder))
		}
		return known[folder], err
	}
	for _, m := range all {
		if err := m.check(tree, tests); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the table is stale:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}
