package wholes_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: rivals of a quorum part soon, each of whom is granted its own server first. Method: all take the same time to reach their
// own server, and another time to the others', so that nothing but the pause at random parts them.
func TestRivalsThatAreEachGrantedTheirOwnServerPart(t *testing.T) {
	for _, n := range []int{2, 2, 2, 2, 2, 3} { // they part by chance
		for _, far := range []time.Duration{5 * time.Millisecond, 8 * time.Millisecond, 12 * time.Millisecond} {
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				all := stage.Posts(t, n, redlatch.Config{})
				for i, p := range all {
					p.Set(stage.Aged(fmt.Sprint(i), stage.Seconds(1_000_000)))
				}
				began, got := time.Now(), make(chan time.Duration, n)
				for own := range n {
					var locks []redlatch.Lock
					for i, p := range all {
						trip := far
						if i == own {
							trip = 5 * time.Millisecond
						}
						locks = append(locks, p.On(t, stage.Line{Driver: p.Tap, Trip: trip}, redlatch.Config{}).Mutex("job"))
					}
					q := check.Must(redlatch.NewQuorum(locks...))
					go func() {
						h, err := q.Lock(ctx, redlatch.WithWait(time.Minute))
						if err != nil {
							t.Errorf("%d servers, %v away: %v", n, far, err)
						} else {
							_ = h.Unlock(ctx)
						}
						got <- time.Since(began)
					}()
				}
				for range n {
					check.Within(t, fmt.Sprintf("wait for %d servers, %v away", n, far), <-got, 0, 10*time.Second)
				}
			})
		}
	}
}
