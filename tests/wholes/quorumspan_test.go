package wholes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Real servers that fail, two of five at a time.

// span is when somebody held the lock for certain.
type span struct {
	who         string
	first, last time.Time
}

// Goal: there are never two holders while a minority of servers dies, freezes and restarts
// empty. Method: several participants note from when until when their holds were valid,
// each moment taken on the safe side; no two such spans overlap.
func TestLongAQuorumHasOneHolderWhileMinoritiesFail(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(redistest.Stretch(8))*time.Second)
	defer cancel()
	name, all := redistest.Name(t), servers(t, 5)
	var mu sync.Mutex
	var spans []span
	var work sync.WaitGroup
	for i := range 4 {
		q := openQuorum(t, all, name, redlatch.Config{LeaseTime: lease, CommandTimeout: lease / 2, ReleaseTimeout: lease / 2})
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		work.Go(func() {
			for ctx.Err() == nil {
				if s, err := holdForAWhile(ctx, q, random); err == nil {
					s.who = fmt.Sprint("participant ", i)
					mu.Lock()
					spans = append(spans, s)
					mu.Unlock()
				} else {
					<-time.After(10 * time.Millisecond)
				}
			}
		})
	}
	for fail := rand.New(rand.NewPCG(seed, 99)); ctx.Err() == nil; {
		failTwo(ctx, t, all, fail, lease)
	}
	work.Wait()
	checkSpans(t, spans, seed)
}

// holdForAWhile returns from when until when a hold was valid for certain.
func holdForAWhile(ctx context.Context, q quorum, random *rand.Rand) (span, error) {
	h, err := q.Lock(ctx)
	if err != nil {
		return span{}, err
	}
	s := span{first: time.Now()}
	for end := s.first.Add(time.Duration(random.IntN(300)) * time.Millisecond); ; <-time.After(time.Millisecond) {
		now := time.Now()
		if now.After(end) || !h.Valid() {
			break
		}
		s.last = now
	}
	_ = h.Unlock(ctx)
	return s, nil
}

// failTwo freezes, kills or restarts two servers of five for a while, and then waits until they count
// again: two that are restarted and two others would be no minority.
func failTwo(ctx context.Context, t *testing.T, all []*redistest.Server, fail *rand.Rand, lease time.Duration) {
	two := fail.Perm(len(all))[:2]
	killed := map[int]bool{}
	for _, i := range two {
		switch fail.IntN(3) {
		case 0:
			all[i].Freeze()
		case 1:
			killed[i] = true
			all[i].Kill()
		default:
			all[i].Restart(t)
		}
	}
	select {
	case <-time.After(time.Duration(fail.IntN(1500)) * time.Millisecond):
	case <-ctx.Done():
	}
	for _, i := range two {
		all[i].Thaw()
		if killed[i] {
			all[i].Restart(t)
		}
	}
	select {
	case <-time.After(2*time.Second + lease):
	case <-ctx.Done():
	}
}

// checkSpans fails for each span that began before an earlier one, whichever, had ended.
func checkSpans(t *testing.T, spans []span, seed uint64) {
	t.Helper()
	if late := overlapping(spans); len(late) > 0 {
		t.Errorf("%d of %d holds began before another had ended (seed %d): %v", len(late), len(spans), seed, late)
	}
	t.Logf("%d holds", len(spans))
	if len(spans) < 5 {
		t.Errorf("only %d holds", len(spans))
	}
}

// overlapping are the spans that began before an earlier one had ended. A span without a last
// moment was never valid.
func overlapping(spans []span) (late []string) {
	spans = slices.DeleteFunc(slices.Clone(spans), func(s span) bool { return s.last.IsZero() })
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	var longest span
	for _, s := range spans {
		if s.first.Before(longest.last) {
			late = append(late, fmt.Sprintf("%s came in %v before %s was out", s.who, longest.last.Sub(s.first), longest.who))
		}
		if s.last.After(longest.last) {
			longest = s
		}
	}
	return late
}

// Goal: an overlap is seen although another span lies between the two.
func TestOverlapsBeyondTheNextAreSeen(t *testing.T) {
	t.Parallel()
	at := func(ms int) time.Time { return time.UnixMilli(int64(1000 + ms)) }
	of := func(who string, first, last int) span { return span{who, at(first), at(last)} }
	for what, c := range map[string]struct {
		spans []span
		want  int
	}{
		"one after another":      {[]span{of("a", 0, 10), of("b", 10, 20), of("c", 21, 30)}, 0},
		"neighbours":             {[]span{of("a", 0, 11), of("b", 10, 20)}, 1},
		"one across two":         {[]span{of("a", 0, 100), of("b", 10, 20), of("c", 30, 40)}, 2},
		"told of out of order":   {[]span{of("c", 30, 40), of("a", 0, 100), of("b", 10, 20)}, 2},
		"one that never counted": {[]span{of("a", 0, 100), {who: "b", first: at(10)}}, 0},
	} {
		if got := overlapping(c.spans); len(got) != c.want {
			t.Errorf("%s: %q, want %d", what, got, c.want)
		}
	}
}
