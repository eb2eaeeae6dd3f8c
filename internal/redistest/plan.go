package redistest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Plans runs a random test. It draws a plan from each of so many seeds (Stretch), and carries it
// out. The first plan that fails ends the test, which prints the seed, and the shortest plan it
// found within a minute that fails as well. The variable REDLATCH_SEED repeats the round of one seed.
//
// A step must not depend on the steps before it, so that a plan can be carried out without them.
func Plans[S any](t testing.TB, rounds int, draw func(random *rand.Rand) []S, carryOut func(plan []S) error) {
	t.Helper()
	seed, rounds, began := rand.Uint64(), Stretch(rounds), time.Now()
	if given, err := strconv.ParseUint(os.Getenv("REDLATCH_SEED"), 10, 64); err == nil {
		seed, rounds = given, 1
	}
	defer func() {
		if t.Failed() { // a bubble of fake time that fails ends the test at once
			t.Logf("REDLATCH_SEED=%d", seed)
		}
	}()
	for round := range rounds {
		plan := draw(rand.New(rand.NewPCG(seed, 0)))
		if err := carryOut(plan); err != nil {
			took := time.Since(began).Round(time.Millisecond)
			t.Logf("a plan fails, and is shortened now: %v", err)
			short, why := shorten(plan, err, carryOut)
			t.Fatalf("after %d rounds that passed in %v: %v\nThe shortest plan, of %d steps of %d, fails with: %v%s",
				round, took, err, len(short), len(plan), why, lines(short))
			return
		}
		seed++
	}
}

// shorten returns a plan without the steps that it fails without. A plan that does not fail again stays as it is.
func shorten[S any](plan []S, why error, carryOut func([]S) error) ([]S, error) {
	until := time.Now().Add(time.Minute)
	fails := func() bool {
		if time.Now().After(until) {
			return false
		}
		err := carryOut(plan)
		why = cmp.Or(err, why)
		return err != nil
	}
	for Drop(&plan, fails) {
	}
	return plan, why
}

// Drop removes parts of a list, large ones first. It removes a part if still is true without it. It reports whether it
// removed any.
func Drop[T any](list *[]T, still func() bool) (dropped bool) {
	for size := len(*list); size > 0; size /= 2 {
		for i := 0; i+size <= len(*list); {
			whole := *list
			if *list = slices.Delete(slices.Clone(whole), i, i+size); still() {
				dropped = true
			} else {
				*list = whole
				i += size
			}
		}
	}
	return dropped
}

func lines[S any](plan []S) string {
	var text strings.Builder
	for _, step := range plan {
		fmt.Fprintf(&text, "\n\t%v", step)
	}
	return text.String()
}

// Pick is one of some values.
func Pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// PlanOf draws a plan of at least so many steps and at most so many.
func PlanOf[S any](random *rand.Rand, least, most int, step func(*rand.Rand) S) []S {
	plan := make([]S, least+random.IntN(most-least+1))
	for i := range plan {
		plan[i] = step(random)
	}
	return plan
}
