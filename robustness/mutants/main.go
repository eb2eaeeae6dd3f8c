package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var (
		list   = flag.Bool("list", false, "print the mutants")
		hand   = flag.Bool("hand", false, "take the list by hand instead of the operators")
		budget = flag.Duration("machines", 0, "for how long each machine searches for each mutant by hand")
		docs   = flag.Bool("docs", false, "write the last column of docs/guarantees.md")
		only   = flag.String("only", "", "take only mutants whose place, change or tests match this")
		sample = flag.Int("sample", 0, "take so many at random; 0: all")
		seed   = flag.Uint64("seed", rand.Uint64(), "of the sample")
		jobs   = flag.Int("jobs", 2, "try so many at a time")
	)
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code, err := 0, error(nil)
	tree, _ := os.Getwd()
	if *docs {
		err = rewritePage(tree, guarantees, guaranteed)
	} else {
		code, err = run(ctx, tree, *hand || *budget > 0, *list, *jobs, *budget, func(all []mutant) []mutant {
			return choose(all, regexp.MustCompile(*only), *sample, *seed)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 2
	}
	os.Exit(code)
}

// choose takes the mutants that the flags ask for, and numbers them.
func choose(all []mutant, only *regexp.Regexp, sample int, seed uint64) (chosen []mutant) {
	all = slices.DeleteFunc(all, func(m mutant) bool { return !only.MatchString(m.String()) })
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	if sample > 0 && sample < len(all) {
		fmt.Printf("a sample of %d of %d by seed %d\n", sample, len(all), seed)
		order = order[:sample]
	}
	slices.Sort(order)
	for i, at := range order {
		chosen = append(chosen, all[at])
		chosen[i].id = i + 1
	}
	return chosen
}

// run lists or tries the mutants that are chosen, and returns the exit code.
func run(ctx context.Context, tree string, hand, list bool, jobs int, budget time.Duration, choose func([]mutant) []mutant) (code int, err error) {
	loaded, err := load(ctx, tree)
	if err != nil {
		return 0, err
	}
	var all []mutant
	if hand {
		all, err = byHand(tree, loaded)
	} else {
		all, err = everywhere(loaded)
	}
	if err != nil {
		return 0, err
	}
	chosen := choose(all)
	if list {
		for _, m := range chosen {
			fmt.Printf("%v\n%s", m, m.diff())
		}
		return 0, nil
	}
	scratch, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	l, err := prepare(tree, scratch, loaded, chosen)
	if err != nil {
		return 0, err
	}
	if budget > 0 {
		return 0, l.search(ctx, chosen, jobs, budget)
	}
	survived, err := l.hunt(ctx, chosen, jobs)
	if hand && survived > 0 {
		code = 1 // a sample may have survivors
	}
	return code, err
}

// everywhere are the mutants of the operators.
func everywhere(loaded []*room) (all []mutant, err error) {
	for _, r := range loaded {
		found, err := r.mutants()
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// hunt tries mutants, some at a time, and prints what becomes of each.
func (l *laboratory) hunt(ctx context.Context, chosen []mutant, jobs int) (survived int, err error) {
	began := time.Now()
	verdicts, places := make([]chan verdict, len(chosen)), make(chan struct{}, jobs)
	for i := range chosen {
		verdicts[i] = make(chan verdict, 1)
	}
	go func() {
		for i, m := range chosen {
			places <- struct{}{}
			go func() {
				verdicts[i] <- l.try(ctx, m)
				<-places
			}()
		}
	}()
	var hung, wrong int
	var survivors strings.Builder
	for i, m := range chosen {
		v := <-verdicts[i]
		said := "killed by " + v.killer
		switch {
		case ctx.Err() != nil:
			return survived, ctx.Err()
		case v.wrong != nil:
			wrong++
			said = "WRONG, " + v.wrong.Error()
		case v.killer == "":
			survived++
			said = "SURVIVED"
			fmt.Fprintf(&survivors, "%v\n%s", m, m.diff())
		case strings.HasPrefix(v.killer, hangs):
			hung++
		}
		fmt.Printf("%3d of %d, %3.0f s: %v: %s\n", i+1, len(chosen), v.took.Seconds(), m, said)
	}
	fmt.Printf("\nscore: %d of %d mutants were killed, %d of them by a hang; %d survived; it took %v\n%s",
		len(chosen)-survived-wrong, len(chosen), hung, survived, time.Since(began).Round(time.Second), survivors.String())
	if wrong > 0 {
		err = fmt.Errorf("%d were not tried", wrong)
	}
	return survived, err
}
