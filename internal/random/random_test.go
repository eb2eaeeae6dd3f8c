package random_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/random"
)

func TestNumbersAreBelowTheirBound(t *testing.T) {
	for range 1000 {
		if d := random.Below(time.Second); d < 0 || d >= time.Second {
			t.Fatalf("%v is not below 1s", d)
		}
	}
}

func TestAListIsShuffled(t *testing.T) {
	first := map[int]bool{}
	for range 1000 {
		list := []int{1, 2, 3}
		random.Shuffle(list)
		if first[list[0]] = true; list[0]+list[1]+list[2] != 6 || list[0]*list[1]*list[2] != 6 {
			t.Fatalf("%v is not 1, 2 and 3 in some order", list)
		}
	}
	if len(first) != 3 {
		t.Errorf("only %v come first", first)
	}
}

func TestNamesAreFresh(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		seen[random.Text()], seen[random.UUID()] = true, true
	}
	if len(seen) != 200 {
		t.Errorf("%d of 200 names differ", len(seen))
	}
}

// Goal: a simulation decides everything. Method: a source that only counts, twice.
func TestASourceReplacesTheGenerators(t *testing.T) {
	draw := func() (all []any) {
		drawn := uint64(0)
		defer random.Replace(func(n uint64) uint64 { drawn += 1 << 20; return drawn % n })()
		return append(all, random.Below(time.Hour), random.Text(), random.UUID())
	}
	first, second := draw(), draw()
	for i := range first {
		if first[i] != second[i] {
			t.Errorf("the same source gives %v, and then %v", first[i], second[i])
		}
	}
	if after := draw(); random.Text() == after[1] {
		t.Error("the source is still in use")
	}
}

// Goal: an identity is a UUID of version 4, as Redisson's are, whoever draws its numbers.
func TestAUUIDHasVersion4(t *testing.T) {
	version4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	for range 100 {
		if id := random.UUID(); !version4.MatchString(id) {
			t.Fatalf("%s is no UUID of version 4", id)
		}
	}
	for _, draw := range []random.Source{func(uint64) uint64 { return 0 }, func(n uint64) uint64 { return n - 1 }} {
		restore := random.Replace(draw)
		id := random.UUID()
		restore()
		if !version4.MatchString(id) {
			t.Errorf("%s is no UUID of version 4", id)
		}
	}
}
