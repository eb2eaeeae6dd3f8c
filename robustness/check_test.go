package robustness

import (
	"math/rand/v2"
	"testing"
	"time"
)

// of makes a hold of lock "a" from its grant to its end, in milliseconds.
func of(granted, sure int, token int64) span {
	at := func(ms int) time.Duration { return time.Duration(ms) * time.Millisecond }
	return span{lock: "a", asked: at(granted - 1), granted: at(granted), sure: at(sure), token: token}
}

func (s span) on(lock string) span { s.lock = lock; return s }

func (s span) askedAt(ms int) span { s.asked = time.Duration(ms) * time.Millisecond; return s }

func TestOverlapsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spans []span
		want  int
	}{
		{"nothing", nil, 0},
		{"one after another", []span{of(0, 10, 0), of(11, 20, 0), of(21, 30, 0)}, 0},
		{"they touch", []span{of(0, 10, 0), of(10, 20, 0)}, 0},
		{"by a hair", []span{of(0, 11, 0), of(10, 20, 0)}, 1},
		{"one inside the other", []span{of(0, 100, 0), of(10, 20, 0)}, 1},
		{"at the same time", []span{of(0, 10, 0), of(0, 10, 0)}, 1},
		{"told of out of order", []span{of(10, 20, 0), of(0, 11, 0)}, 1},
		{"one across two", []span{of(0, 100, 0), of(10, 20, 0), of(30, 40, 0)}, 2},
		{"three at once", []span{of(0, 100, 0), of(10, 90, 0), of(20, 80, 0)}, 3},
		{"different locks", []span{of(0, 100, 0), of(10, 90, 0).on("b")}, 0},
		{"not valid any more when it was granted", []span{of(0, 100, 0), of(10, 0, 0)}, 0},
	} {
		if got := overlaps(c.spans); got != c.want {
			t.Errorf("%s: %d overlaps, want %d", c.name, got, c.want)
		}
	}
}

// The quick way to count agrees with the obvious one.
func TestOverlapsAgreeWithAllPairs(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		var spans []span
		for range random.IntN(40) {
			from := random.IntN(100)
			spans = append(spans, of(from, from+random.IntN(20)-2, 0).on(string("abc"[random.IntN(3)])))
		}
		want := 0
		for i, a := range spans {
			for _, b := range spans[:i] {
				if a.lock == b.lock && max(a.granted, b.granted) < min(a.sure, b.sure) {
					want++
				}
			}
		}
		if got := overlaps(spans); got != want {
			t.Fatalf("seed %d: %d overlaps, want %d of %+v", seed, got, want, spans)
		}
	}
}

func TestTokensThatAreGivenAgainAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		spans []span
		want  int
	}{
		{"they grow", []span{of(10, 11, 1), of(20, 21, 2), of(30, 31, 7)}, 0},
		{"the same", []span{of(10, 11, 1), of(20, 21, 1)}, 2},
		{"the same at the same time", []span{of(10, 11, 1), of(10, 11, 1)}, 2},
		{"back", []span{of(10, 11, 5), of(20, 21, 4)}, 1},
		{"back for a while", []span{of(10, 11, 5), of(20, 21, 3), of(30, 31, 4), of(40, 41, 6)}, 2},
		{"smaller, but perhaps granted before", []span{of(10, 11, 5), of(20, 21, 4).askedAt(5)}, 0},
		{"told of out of order", []span{of(20, 21, 4), of(10, 11, 5)}, 1},
		{"different locks", []span{of(10, 11, 5), of(20, 21, 5).on("b")}, 0},
	} {
		if got := reusedTokens(c.spans); got != c.want {
			t.Errorf("%s: %d tokens given again, want %d", c.name, got, c.want)
		}
	}
}

func TestTheLongestTimeWithoutServiceIsThatOfTheWorstLock(t *testing.T) {
	t.Parallel()
	spans := []span{of(10, 11, 0), of(50, 51, 0), of(90, 91, 0), of(15, 16, 0).on("b"), of(95, 96, 0).on("b"), of(97, 98, 0).on("c")}
	for _, c := range []struct {
		locks    []string
		from, to int
		want     int
	}{
		{[]string{"a"}, 0, 100, 40},
		{[]string{"a", "b"}, 0, 100, 80},
		{[]string{"a", "b"}, 60, 100, 35}, // what was before the fault does not count
		{[]string{"a"}, 0, 200, 110},      // nor is the end forgotten
		{[]string{"a", "c"}, 0, 100, 97},
		{[]string{"nobody"}, 20, 100, 80},
	} {
		got := longestGap(spans, c.locks, time.Duration(c.from)*time.Millisecond, time.Duration(c.to)*time.Millisecond)
		if want := time.Duration(c.want) * time.Millisecond; got != want {
			t.Errorf("%v from %d to %d: %v, want %v", c.locks, c.from, c.to, got, want)
		}
	}
}
