package counter

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/pause"
)

// crowd are waiters for one semaphore, in their order.
type crowd struct {
	job   Semaphore
	leave []context.CancelFunc
	errs  []chan error
}

// wait has waiters join that want so many permits each. The semaphore has none.
func (s *stage) wait(wants ...int) crowd {
	c := crowd{job: s.mine.Semaphore("job")}
	for _, n := range wants {
		ctx, leave := context.WithCancel(s.limited())
		err := make(chan error, 1)
		c.leave, c.errs = append(c.leave, leave), append(c.errs, err)
		go func() { err <- c.job.Acquire(ctx, n) }()
		synctest.Wait()
	}
	time.Sleep(100 * time.Millisecond) // the first has subscribed, and asked once more
	return c
}

// has fails if not just these waiters have returned.
func (s *stage) has(c crowd, have ...int) {
	s.Helper()
	synctest.Wait()
	for i, err := range c.errs {
		if (len(err) > 0) != slices.Contains(have, i) {
			s.Errorf("with %v to have returned, waiter %d has: %v", have, i, len(err) > 0)
		}
	}
}

// Goal: waiters are served in their order, also by one request for several of them. A small request does not overtake a
// large one.
func TestOneRequestServesWaitersInTheirOrder(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		c := s.wait(1, 2, 3, 1)
		for _, step := range []struct {
			added int
			have  []int
		}{{2, []int{0}}, {1, []int{0, 1}}, {2, []int{0, 1}}, {2, []int{0, 1, 2, 3}}} {
			if err := s.others.Semaphore("job").Add(s.Context(), step.added); err != nil {
				s.Fatal(err)
			}
			s.has(c, step.have...)
		}
		if s.number("job") != "0" {
			s.Errorf("%s permits are left", s.number("job"))
		}
	})
}

// Goal: whatever becomes of a request for two waiters, each has its permits or an error, and no permit is lost. Method: one
// waits for a permit and one for two. The request for both meets a fate, in which somebody may leave.
func TestWhatBecomesOfARequestForSeveralWaiters(t *testing.T) {
	t.Parallel()
	left, refused := lockerr.ErrNotAcquired, errors.New("any")
	for name, r := range map[string]struct {
		added int
		fate  func(c crowd) embedded.Fate
		errs  [2]error
		after string
	}{
		"it arrives":                    {3, func(crowd) embedded.Fate { return arrives }, [2]error{}, "0"},
		"the reply is lost":             {3, func(crowd) embedded.Fate { return embedded.Unanswered }, [2]error{}, "0"},
		"it is lost":                    {3, func(crowd) embedded.Fate { return embedded.Lost }, [2]error{}, "0"},
		"the server refuses it":         {3, func(crowd) embedded.Fate { return answers("ERR no") }, [2]error{refused, nil}, "1"},
		"the first leaves":              {3, func(c crowd) embedded.Fate { return meanwhile(c.leave[0]) }, [2]error{nil, nil}, "0"},
		"the first leaves, and waits":   {3, func(c crowd) embedded.Fate { return slow(c.leave[0]) }, [2]error{nil, nil}, "0"},
		"the first leaves, unanswered":  {3, func(c crowd) embedded.Fate { return unheard(c.leave[0]) }, [2]error{left, nil}, "1"},
		"the second leaves":             {3, func(c crowd) embedded.Fate { return meanwhile(c.leave[1]) }, [2]error{nil, left}, "2"},
		"the second leaves, unserved":   {2, func(c crowd) embedded.Fate { return meanwhile(c.leave[1]) }, [2]error{nil, left}, "1"},
		"the second leaves, unanswered": {3, func(c crowd) embedded.Fate { return unheard(c.leave[1]) }, [2]error{nil, left}, "2"},
		"both leave":                    {3, func(c crowd) embedded.Fate { return unheard(c.leave[0], c.leave[1]) }, [2]error{left, left}, "3"},
		"the client closes":             {3, func(c crowd) embedded.Fate { return meanwhile(c.closes) }, [2]error{nil, lockerr.ErrClosed}, "2"},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(s *stage) {
				c := s.wait(1, 2)
				fate := r.fate(c)
				s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
					if both := len(words) == 9 && !cancels(words, c.job); both && fate != nil {
						met := fate
						fate = nil
						return met(ctx, words, send)
					}
					return send()
				})
				if err := s.others.Semaphore("job").Add(s.Context(), r.added); err != nil {
					s.Fatal(err)
				}
				time.Sleep(time.Minute)
				for i, want := range r.errs {
					err := <-c.errs[i]
					if (err == nil) != (want == nil) || want != refused && !errors.Is(err, want) {
						s.Errorf("waiter %d: %v, want %v", i, err, want)
					}
				}
				if fate != nil || s.number("job") != r.after {
					s.Errorf("%s permits are left, want %s; the request was sent: %v", s.number("job"), r.after, fate == nil)
				}
			})
		})
	}
}

// meanwhile has a command arrive, and something happen before it is answered.
func meanwhile(happens func()) embedded.Fate {
	return func(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
		reply := send()
		happens()
		time.Sleep(time.Millisecond)
		return reply
	}
}

// slow has a command arrive, and its caller leave before the answer comes.
func slow(leave context.CancelFunc) embedded.Fate {
	return func(ctx context.Context, _ []string, send func() driver.Reply) driver.Reply {
		reply := send()
		leave()
		if err := pause.For(ctx, lock.Grace/2-time.Millisecond); err != nil {
			return driver.Reply{Err: err}
		}
		return reply
	}
}

// unheard has a command arrive, and its callers leave before an answer that does not come.
func unheard(leave ...context.CancelFunc) embedded.Fate {
	return func(ctx context.Context, _ []string, send func() driver.Reply) driver.Reply {
		send()
		for _, one := range leave {
			one()
		}
		return driver.Reply{Err: cmp.Or(pause.For(ctx, lock.Grace/2+time.Millisecond), embedded.ErrNoReply)}
	}
}

// forNow answers as answers does, for less than a minute.
func forNow(message string) embedded.Fate {
	var from sync.Once
	var until time.Time
	return func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
		from.Do(func() { until = time.Now().Add(30 * time.Second) })
		if time.Now().Before(until) {
			return answers(message)(ctx, words, send)
		}
		return send()
	}
}

// closes begins to close the client.
func (c crowd) closes() { go func() { _ = c.job.manager.Close(context.Background()) }() }

// Goal: whoever leaves while another waiter takes permits for it is told that nothing is left of that only if they are put
// back, or gone with the semaphore. Method: a table of what putting them back meets.
func TestWhoeverLeavesLearnsWhatBecomesOfItsPermit(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		back  embedded.Fate
		gone  bool
		err   error
		after string
	}{
		"put back":              {arrives, false, lockerr.ErrNotAcquired, "1"},
		"refused":               {answers("ERR no"), false, lockerr.ErrUnknownOutcome, "0"},
		"refused for now":       {forNow("OOM no"), false, lockerr.ErrUnknownOutcome, "1"},
		"the semaphore is gone": {arrives, true, lockerr.ErrNotAcquired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(s *stage) {
				c := s.wait(1, 1)
				s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
					if cancels(words, c.job) {
						return r.back(ctx, words, send)
					}
					return meanwhile(func() {
						c.leave[1]()
						if r.gone {
							s.Miniredis().Del("job")
						}
					})(ctx, words, send)
				})
				if err := s.others.Semaphore("job").Add(s.Context(), 2); err != nil {
					s.Fatal(err)
				}
				if first, second := <-c.errs[0], <-c.errs[1]; first != nil || !errors.Is(second, r.err) {
					s.Errorf("%v and %v, want no error and %v", first, second, r.err)
				}
				time.Sleep(time.Minute)
				if got := s.number("job"); got != r.after {
					s.Errorf("%q permits are left, want %q", got, r.after)
				}
			})
		})
	}
}
