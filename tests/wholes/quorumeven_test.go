package wholes_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Half of an even number of servers is no majority, because two could have it. One more is.
func TestHalfOfAnEvenNumberOfServersIsNoMajority(t *testing.T) {
	for _, n := range []int{2, 4, 6} {
		for _, gone := range []bool{false, true} {
			for _, left := range []int{n / 2, n/2 + 1} {
				stage.Bubble(t, func(t *testing.T, ctx context.Context) {
					all := stage.Posts(t, n, stage.Sure)
					for _, p := range all[left:] {
						if gone {
							p.Set(stage.Dead)
						} else {
							_ = check.Must(p.Rival(t, stage.Sure).Mutex("job").Lock(ctx))
						}
					}
					h, err := check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).TryLock(ctx)
					if (err == nil) != (left > n/2) {
						t.Errorf("with %d of %d servers (the others dead: %v): %v", left, n, gone, err)
					}
					if err == nil {
						_ = h.Unlock(ctx)
					}
					synctest.Wait()
					for i, p := range all[:left] {
						if p.Memory.Miniredis().Exists("job") {
							t.Errorf("%d servers: the lock stays on server %d", n, i)
						}
					}
				})
			}
		}
	}
}

// Members with leases of their own: a whole ends when fewer than it needs are left, if no reply
// comes any more.
func TestAWholeEndsWithTheMemberThatItCannotDoWithout(t *testing.T) {
	for _, c := range []struct {
		whole         string
		members, last int // the number of the member, by its lease, with which the whole ends
	}{
		{"multi", 2, 0}, {"multi", 3, 0}, {"quorum", 3, 1}, {"quorum", 4, 1}, {"quorum", 5, 2},
	} {
		t.Run(fmt.Sprint(c.whole, c.members), func(t *testing.T) {
			stage.Bubble(t, func(t *testing.T, ctx context.Context) {
				var locks []redlatch.Lock
				var all []*stage.Post
				for i := range c.members {
					p := stage.Posts(t, 1, redlatch.Config{LeaseTime: time.Duration(30+10*i) * time.Second, RestartDelay: -1})[0]
					all, locks = append(all, p), append(locks, p.Client.Mutex("job"))
				}
				var whole interface {
					Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error)
				} = check.Must(redlatch.NewMulti(locks...))
				if c.whole == "quorum" {
					whole = check.Must(redlatch.NewQuorum(locks...))
				}
				h := check.Must(whole.Lock(ctx))
				synctest.Wait()
				for _, p := range all {
					p.Set(stage.Dead)
				}
				began, want := time.Now(), time.Duration(30+10*c.last)*time.Second
				check.Within(t, "the deadline", time.Until(h.Deadline()), want-time.Second, want)
				<-h.Done()
				check.Within(t, "the end", time.Since(began), want-time.Second, want)
				_ = h.Unlock(ctx)
			})
		})
	}
}
