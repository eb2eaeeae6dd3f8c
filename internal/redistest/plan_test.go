package redistest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/redistest"
)

// complaint is a testing.TB that notes what Fatalf and Logf say, and does not end the test.
type complaint struct {
	testing.TB
	text, log string
}

func (c *complaint) Helper()                           {}
func (c *complaint) Failed() bool                      { return c.text != "" }
func (c *complaint) Logf(format string, args ...any)   { c.log += fmt.Sprintf(format, args...) }
func (c *complaint) Fatalf(format string, args ...any) { c.text = fmt.Sprintf(format, args...) }

// broken is a code that fails once "open" was called before "close".
func broken(plan []string) error {
	opened := slices.Index(plan, "open")
	if opened >= 0 && slices.Contains(plan[opened:], "close") {
		return fmt.Errorf("%d steps failed", len(plan))
	}
	return nil
}

func drawDoors(random *rand.Rand) []string {
	return redistest.PlanOf(random, 20, 40, func(random *rand.Rand) string {
		return redistest.Pick(random, "open", "close", "knock", "ring")
	})
}

// TestAPlanThatFailsIsShortAndRepeatable is not parallel: it sets a variable of the environment.
func TestAPlanThatFailsIsShortAndRepeatable(t *testing.T) {
	var first, second complaint
	redistest.Plans(&first, 100, drawDoors, broken)
	if !strings.HasSuffix(first.text, "of 2 steps of "+between(first.text, "steps of ", ",")+", fails with: 2 steps failed\n\topen\n\tclose") {
		t.Fatalf("a plan failed with\n%s", first.text)
	}
	seed := regexp.MustCompile(`REDLATCH_SEED=(\d+)`).FindStringSubmatch(first.log)
	if seed == nil {
		t.Fatalf("no seed in\n%s", first.log)
	}
	t.Setenv("REDLATCH_SEED", seed[1])
	redistest.Plans(&second, 100, drawDoors, broken)
	if why := between(first.text, ": ", "\n"); why == "" || why != between(second.text, ": ", "\n") {
		t.Errorf("the seed of\n%s\ngave\n%s", first.text, second.text)
	}
}

func between(text, before, after string) string {
	_, rest, _ := strings.Cut(text, before)
	found, _, _ := strings.Cut(rest, after)
	return found
}

// A test may end inside a plan, because a bubble of fake time has failed.
func TestAPlanThatEndsTheTestIsRepeatable(t *testing.T) {
	t.Parallel()
	var c complaint
	done := make(chan struct{})
	go func() {
		defer close(done)
		redistest.Plans(&c, 1, drawDoors, func([]string) error {
			c.Fatalf("over")
			runtime.Goexit()
			return nil
		})
	}()
	if <-done; !strings.Contains(c.log, "REDLATCH_SEED=") {
		t.Errorf("no seed in %q", c.log)
	}
}

func TestAPlanThatFailsOnceIsPrintedWhole(t *testing.T) {
	t.Parallel()
	calls := 0
	var c complaint
	redistest.Plans(&c, 1, drawDoors, func([]string) error {
		if calls++; calls == 1 {
			return errors.New("once")
		}
		return nil
	})
	if n := between(c.text, "steps of ", ","); n == "" || !strings.Contains(c.text, "of "+n+" steps of "+n+", fails with: once") {
		t.Errorf("got\n%s", c.text)
	}
}

func TestPlansThatPassAreAsManyAsAskedFor(t *testing.T) {
	t.Parallel()
	rounds := 0
	seen := map[string]bool{}
	redistest.Plans(t, 30, drawDoors, func(plan []string) error {
		rounds++
		seen[strings.Join(plan, " ")] = true
		if len(plan) < 20 || len(plan) > 40 {
			t.Errorf("a plan of %d steps", len(plan))
		}
		return nil
	})
	if want := redistest.Stretch(30); rounds != want || len(seen) != want {
		t.Errorf("%d rounds with %d plans, want %d", rounds, len(seen), want)
	}
}
