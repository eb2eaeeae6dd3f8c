package redlatch_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// Half of an even number of servers is no majority, because two could have it. One more is.
func TestHalfOfAnEvenNumberOfServersIsNoMajority(t *testing.T) {
	for _, n := range []int{2, 4, 6} {
		for _, gone := range []bool{false, true} {
			for _, left := range []int{n / 2, n/2 + 1} {
				bubble(t, func(t *testing.T, ctx context.Context) {
					all := posts(t, n, sure)
					for _, p := range all[left:] {
						if gone {
							p.set(dead)
						} else {
							_ = must(p.rival(t, sure).Mutex("job").Lock(ctx))
						}
					}
					h, err := redlatch.NewQuorum(locksOf(all, "job")...).TryLock(ctx)
					if (err == nil) != (left > n/2) {
						t.Errorf("with %d of %d servers (the others dead: %v): %v", left, n, gone, err)
					}
					if err == nil {
						_ = h.Unlock(ctx)
					}
					synctest.Wait()
					for i, p := range all[:left] {
						if p.memory.Miniredis().Exists("job") {
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
			bubble(t, func(t *testing.T, ctx context.Context) {
				var locks []redlatch.Lock
				var all []*post
				for i := range c.members {
					p := posts(t, 1, redlatch.Config{LeaseTime: time.Duration(30+10*i) * time.Second, RestartDelay: -1})[0]
					all, locks = append(all, p), append(locks, p.client.Mutex("job"))
				}
				var whole interface {
					Lock(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error)
				} = redlatch.NewMulti(locks...)
				if c.whole == "quorum" {
					whole = redlatch.NewQuorum(locks...)
				}
				h := must(whole.Lock(ctx))
				synctest.Wait()
				for _, p := range all {
					p.set(dead)
				}
				began, want := time.Now(), time.Duration(30+10*c.last)*time.Second
				within(t, "the deadline", time.Until(h.Deadline()), want-time.Second, want)
				<-h.Done()
				within(t, "the end", time.Since(began), want-time.Second, want)
				_ = h.Unlock(ctx)
			})
		})
	}
}
