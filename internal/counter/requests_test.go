package counter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lockerr"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a record belongs to one request at a time, a later request of a record has a greater number, and
// there are no more records than there were requests at a time. Method: requests begin and end at random.
func TestARecordIsOfOneRequestAtATime(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		draw := func(random *rand.Rand) []int {
			return redistest.PlanOf(random, 10, 60, func(random *rand.Rand) int { return random.IntN(8) - 4 })
		}
		redistest.Plans(t, 100, draw, func(plan []int) error {
			c := New(s.mine.manager, bound)
			var open []request
			last, most := map[string]int64{}, 0
			for _, step := range plan {
				if step < 0 && len(open) > 0 {
					i := -step % len(open)
					c.end(open[i])
					open = slices.Delete(open, i, i+1)
					continue
				}
				r := c.begin("job")
				if slices.ContainsFunc(open, func(o request) bool { return o.Record == r.Record }) {
					return fmt.Errorf("two requests have the record %s", r.Record)
				}
				if r.Number <= last[r.Record] {
					return fmt.Errorf("request %d follows %d on the record %s", r.Number, last[r.Record], r.Record)
				}
				last[r.Record] = r.Number
				open = append(open, r)
				most = max(most, len(open))
			}
			if len(last) != most || len(c.free)+len(open) != most {
				return fmt.Errorf("%d records for %d requests at a time, %d free and %d open", len(last), most, len(c.free), len(open))
			}
			return nil
		})
	})
}

// No copy of a request comes later than its record is kept.
func TestARecordIsKeptForLongerThanARequestIsRepeated(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		for bound, keep := range map[time.Duration]time.Duration{
			time.Millisecond: 4 * time.Minute, time.Minute: 4 * time.Minute, 61 * time.Second: 244 * time.Second, time.Hour: 4 * time.Hour,
		} {
			r := New(s.mine.manager, bound).begin("job")
			if r.Keep != keep {
				t.Errorf("a request that is repeated for %v has its record for %v, want %v", bound, r.Keep, keep)
			}
		}
	})
}

// A server that refuses is believed if no earlier copy of the request can be on its way.
func TestARefusalAfterALostRequestLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	changes := map[string]func(s *stage) error{
		"TrySet": func(s *stage) error {
			_, err := s.mine.Semaphore("job").TrySet(s.Context(), 3)
			return err
		},
		"Drain": func(s *stage) error {
			_, err := s.mine.Semaphore("job").Drain(s.Context())
			return err
		},
		"Add":          func(s *stage) error { return s.mine.Semaphore("job").Add(s.Context(), 1) },
		"Release":      func(s *stage) error { return s.mine.Semaphore("job").Release(s.Context(), 1) },
		"Permits.Add":  func(s *stage) error { return s.mine.Permits("job").Add(s.Context(), 1) },
		"CountDown":    func(s *stage) error { return s.mine.Latch("job").CountDown(s.Context()) },
		"Latch.TrySet": func(s *stage) error { _, err := s.mine.Latch("job").TrySet(s.Context(), 1); return err },
	}
	refusals := map[string]error{"ERR no": nil, "WRONGTYPE of another kind": lockerr.ErrWrongType}
	for verb, change := range changes {
		for message, what := range refusals {
			t.Run(verb+" "+message, func(t *testing.T) {
				story(t, func(s *stage) {
					s.then(answers(message))
					if err := change(s); err == nil || errors.Is(err, lockerr.ErrUnknownOutcome) || what != nil && !errors.Is(err, what) {
						t.Errorf("refused at once: %v", err)
					}
					s.then(embedded.Lost, answers(message))
					if err := change(s); !errors.Is(err, lockerr.ErrUnknownOutcome) {
						t.Errorf("refused after a request that was lost: %v", err)
					}
					s.then(embedded.Frozen)
					if err := change(s); !errors.Is(err, lockerr.ErrUnknownOutcome) {
						t.Errorf("not answered at all: %v", err)
					}
				})
			})
		}
	}
}

// A name that cannot be used is said before anything else, and nothing begins once the manager closes.
func TestWhatCannotBeginSaysWhyAndSendsNothing(t *testing.T) {
	t.Parallel()
	verbs := func(c *Counters, name string) map[string]error {
		ctx, s, l := context.Background(), c.Semaphore(name), c.Latch(name)
		errs := map[string]error{
			"Acquire": s.Acquire(ctx, 1), "Add": s.Add(ctx, 1), "Release": s.Release(ctx, 1),
			"CountDown": l.CountDown(ctx), "Wait": l.Wait(ctx),
		}
		_, errs["TryAcquire"] = s.TryAcquire(ctx, 1)
		_, errs["Drain"] = s.Drain(ctx)
		_, errs["Available"] = s.Available(ctx)
		_, errs["Permits.Available"] = c.Permits(name).Available(ctx)
		_, errs["TrySet"] = s.TrySet(ctx, 1)
		_, errs["Latch.TrySet"] = l.TrySet(ctx, 1)
		_, errs["Count"] = l.Count(ctx)
		return errs
	}
	story(t, func(s *stage) {
		sent := s.then(arrives)
		for verb, err := range verbs(s.mine, "") {
			if !errors.Is(err, lockerr.ErrInvalidName) {
				t.Errorf("%s without a name: %v", verb, err)
			}
		}
		if err := s.mine.manager.Close(context.Background()); err != nil {
			s.Fatal(err)
		}
		for verb, err := range verbs(s.mine, "job") {
			if !errors.Is(err, lockerr.ErrClosed) {
				t.Errorf("%s after Close: %v", verb, err)
			}
		}
		if sent.Load() > 0 || s.mine.most > 0 {
			t.Errorf("%d commands were sent, %d requests begun", sent.Load(), s.mine.most)
		}
	})
}

// A waiter that nobody wakes asks before the poll cap has passed, and not much earlier.
func TestANapIsUpToAFifthShorterThanThePollCap(t *testing.T) {
	t.Parallel()
	story(t, func(s *stage) {
		n := s.mine.Semaphore("job").named
		for range 100 {
			if nap := time.Until(n.nap()); nap > pollCap || nap < pollCap*4/5 {
				s.Fatalf("a nap of %v, want up to a fifth less than %v", nap, pollCap)
			}
		}
	})
}

// Goal: what ends work asks a server that refuses it some ten times a second, however short the release timeout is.
func TestARequestThatIsInsistedOnIsSentAtAPace(t *testing.T) {
	t.Parallel()
	for _, release := range []time.Duration{time.Millisecond, 50 * time.Millisecond, bound} {
		story(t, func(s *stage) {
			c, sent, fate := newCounters(s.Spoiled, release), 0, forNow("OOM no")
			s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
				if sent++; sent > 1000 {
					return send() // otherwise the time of a bubble stands still
				}
				return fate(ctx, words, send)
			})
			err := c.Semaphore("job").Release(s.Context(), 1)
			time.Sleep(time.Minute)
			if s.number("job") != "1" || sent > 1000 || !errors.Is(err, lockerr.ErrUnknownOutcome) {
				t.Errorf("a release timeout of %v: %d requests, %v, and then %s permits", release, sent, err, s.number("job"))
			}
			_ = c.manager.Close(s.Context())
		})
	}
}
