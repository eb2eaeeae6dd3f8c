package leases_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A hold that ends by its limit leaves nothing in Redis, whatever was asked for before.

// endsWithItsLock fails unless somebody else has the lock as soon as the limit of a hold has passed, and the hold is lost.
func endsWithItsLock(t *testing.T, h *redlatch.Hold, l redlatch.Lock, limit time.Time) {
	t.Helper()
	next := check.Must(l.Lock(context.Background(), redlatch.WithWait(time.Until(limit)+time.Hour)))
	check.Within(t, "behind the limit the next enters after", time.Since(limit), -time.Second, 2*time.Second)
	check.Is(t, "Err", h.Err(), redlatch.ErrLost)
	check.Is(t, "Unlock", next.Unlock(context.Background()), nil)
}

// Goal: the lock is free when a hold ends by its limit, whatever an inner hold had asked for.
func TestAHoldThatEndsByItsLimitLeavesNothingForAnInnerOne(t *testing.T) {
	t.Parallel()
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		for _, extended := range []bool{false, true} {
			ctx, began := s.Client.WithOwner(context.Background()), time.Now()
			outer := check.Must(k.Lock(s.Client, "job").Lock(ctx, redlatch.WithMaxHold(70*time.Second)))
			lease := time.Hour
			if extended {
				lease = time.Minute
			}
			inner := check.Must(k.Lock(s.Client, "job").Lock(ctx, redlatch.WithLease(lease)))
			if extended {
				check.Is(t, "Extend", inner.Extend(ctx, time.Hour), nil)
			}
			check.Is(t, "Unlock", inner.Unlock(ctx), nil)
			check.Within(t, "the TTL", s.TTL("job"), 59*time.Minute, time.Hour)
			endsWithItsLock(t, outer, k.Rival(s.Stranger(), "job"), began.Add(70*time.Second))
		}
	})
}

// Goal: the same if Redis was asked for more by a renewal that was not answered. An inner hold without a limit is renewed.
func TestAHoldThatEndsByItsLimitLeavesNothingOfARenewal(t *testing.T) {
	t.Parallel()
	stage.EachKind(t, redlatch.Config{LeaseTime: time.Minute}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		tap, began := s.Tap(), time.Now()
		ctx := s.Client.WithOwner(context.Background())
		outer := check.Must(k.Lock(s.Client, "job").Lock(ctx, redlatch.WithMaxHold(75*time.Second)))
		check.Is(t, "Extend", outer.Extend(ctx, time.Second), nil) // the server knows the script
		inner := check.Must(k.Lock(s.Client, "job").Lock(ctx))
		tap.Set(unanswered(time.Second, asks("60000")))
		time.Sleep(22 * time.Second)
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		check.Within(t, "the TTL", s.TTL("job"), 58*time.Second, time.Minute)
		endsWithItsLock(t, outer, k.Rival(s.Stranger(), "job"), began.Add(75*time.Second))
	})
}

// Goal: the same if that renewal is still under way when the limit has passed. Method: its answer, or that there is none, is
// late, as in a process that was paused.
func TestAHoldThatEndsByItsLimitLeavesNothingOfARenewalUnderWay(t *testing.T) {
	t.Parallel()
	for what, cut := range map[string]bool{"answered": false, "unanswered": true} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{LeaseTime: time.Hour}, func(t *testing.T, s *stage.Stage) {
				const most = 90 * time.Minute
				tap, began := s.Tap(), time.Now()
				ctx := s.Client.WithOwner(context.Background())
				outer := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithMaxHold(most)))
				time.Sleep(most - 20*time.Minute - time.Second) // then comes the first renewal of the inner hold
				inner := check.Must(s.Client.Mutex("job").Lock(ctx))
				late := tardy(false, 4*time.Second, anHour)
				tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					replies := late(commands, send)
					if cut && anHour(commands[0].Words) {
						return stage.FailAll(commands, stage.ErrCut)
					}
					return replies
				})
				time.Sleep(20*time.Minute + 100*time.Millisecond)
				check.Is(t, "Unlock", inner.Unlock(ctx), nil)
				check.Within(t, "the TTL", s.TTL("job"), 59*time.Minute, time.Hour)
				endsWithItsLock(t, outer, s.Stranger().Mutex("job"), began.Add(most))
			})
		})
	}
}

// Goal: the same if the limit comes later than what was asked for, as that of a member when its whole is complete. Method: an
// outer hold of a member is renewed, and not answered, or has a long lease. It ends while the Multi waits for the other member.
func TestAMemberThatEndsByItsLimitLeavesNothingOfAnOuterHold(t *testing.T) {
	t.Parallel()
	for what, opts := range map[string][]redlatch.LockOption{"renewed": nil, "long": {redlatch.WithLease(time.Hour)}} {
		for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} { // it asks for one of them first
			t.Run(what+"/"+names[0], func(t *testing.T) {
				stage.Story(t, redlatch.Config{LeaseTime: time.Minute}, func(t *testing.T, s *stage.Stage) {
					tap, ctx := s.Tap(), s.Client.WithOwner(context.Background())
					outer := check.Must(s.Client.Mutex(names[0]).Lock(ctx, opts...))
					check.Is(t, "Extend", outer.Extend(ctx, time.Second), nil) // the server knows the script
					other := check.Must(s.Stranger().Mutex(names[1]).Lock(context.Background()))
					tap.Set(unanswered(0, func(words []string) bool { return asks("60000")(words) && !asks(names[1])(words) }))
					formed := make(chan *redlatch.Hold, 1)
					go func() {
						m := check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b")))
						formed <- check.Must(m.Lock(ctx, redlatch.WithMaxHold(20*time.Second)))
					}()
					time.Sleep(50 * time.Second)
					check.Is(t, "Unlock", outer.Unlock(ctx), nil)
					time.Sleep(8 * time.Second)
					check.Is(t, "Unlock", other.Unlock(context.Background()), nil)
					whole, began := <-formed, time.Now()
					endsWithItsLock(t, whole, s.Stranger().Mutex(names[0]), began.Add(20*time.Second))
				})
			})
		}
	}
}

// Goal: the same if what an inner hold asked for ends just behind the limit: it is trusted for less than it was asked for.
func TestALimitJustBeforeTheEndOfAnInnerLeaseEndsTheLock(t *testing.T) {
	t.Parallel()
	stage.EachKind(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		const most = 10*time.Minute - 6*time.Second
		ctx, began := s.Client.WithOwner(context.Background()), time.Now()
		outer := check.Must(k.Lock(s.Client, "job").Lock(ctx, redlatch.WithMaxHold(most)))
		inner := check.Must(k.Lock(s.Client, "job").Lock(ctx, redlatch.WithLease(10*time.Minute)))
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		endsWithItsLock(t, outer, k.Rival(s.Stranger(), "job"), began.Add(most))
	})
}

// Goal: the same if a repetition took the inner hold, so that its lease began later than it was asked for.
func TestALimitJustBeforeTheEndOfARepeatedLeaseEndsTheLock(t *testing.T) {
	t.Parallel()
	stage.EachKind(t, redlatch.Config{CommandTimeout: 8 * time.Second}, func(t *testing.T, s *stage.Stage, k stage.Kind) {
		tap := s.Tap()
		ctx, l, began := s.Client.WithOwner(context.Background()), k.Lock(s.Client, "job"), time.Now()
		outer := check.Must(l.Lock(ctx, redlatch.WithMaxHold(20*time.Minute+2*time.Second)))
		var asked atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if !slices.ContainsFunc(commands, func(c driver.Command) bool { return asks("1200000")(c.Words) }) || asked.Add(1) > 1 {
				return send(commands...)
			}
			time.Sleep(6 * time.Second)
			return stage.FailAll(commands, stage.ErrCut)
		})
		inner := check.Must(l.Lock(ctx, redlatch.WithLease(20*time.Minute)))
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		endsWithItsLock(t, outer, k.Rival(s.Stranger(), "job"), began.Add(20*time.Minute+2*time.Second))
	})
}

// Goal: the same if the last renewal or extension before the limit was repeated, so that its lease began later than it was asked for.
func TestALimitBehindARepeatedRenewalEndsTheLock(t *testing.T) {
	t.Parallel()
	for _, extended := range []bool{false, true} {
		t.Run(fmt.Sprintf("extended %t", extended), func(t *testing.T) {
			cfg := redlatch.Config{LeaseTime: 10 * time.Minute, CommandTimeout: 100 * time.Second}
			stage.EachKind(t, cfg, func(t *testing.T, s *stage.Stage, k stage.Kind) {
				tap, began := s.Tap(), time.Now()
				h := check.Must(k.Lock(s.Client, "job").Lock(context.Background(), redlatch.WithMaxHold(700*time.Second)))
				var sent atomic.Int64
				tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					if sent.Add(1) > 1 {
						return send(commands...)
					}
					time.Sleep(80 * time.Second)
					return stage.FailAll(commands, stage.ErrCut)
				})
				if extended {
					time.Sleep(2 * time.Minute)
					check.Is(t, "Extend", h.Extend(context.Background(), 10*time.Minute), nil)
				}
				endsWithItsLock(t, h, k.Rival(s.Stranger(), "job"), began.Add(700*time.Second))
			})
		})
	}
}

// Goal: the same if the confirmation of a member was repeated.
func TestALimitBehindARepeatedConfirmationEndsTheLock(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{LeaseTime: 30 * time.Minute, CommandTimeout: 5 * time.Minute}, func(t *testing.T, s *stage.Stage) {
		tap, began := s.Tap(), time.Now()
		var sent atomic.Int64
		tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			one := commands[0].Words // both members are asked for in one request, and confirmed by one each
			if !asks("a")(one) || asks("b")(one) || sent.Add(1) > 1 {
				return send(commands...)
			}
			time.Sleep(4 * time.Minute)
			return stage.FailAll(commands, stage.ErrCut)
		})
		m := check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b")))
		h := check.Must(m.Lock(context.Background(), redlatch.WithMaxHold(32*time.Minute)))
		check.Within(t, "the confirmation", time.Since(began), 4*time.Minute, 4*time.Minute+time.Second)
		endsWithItsLock(t, h, s.Stranger().Mutex("a"), began.Add(32*time.Minute))
	})
}

// Goal: the same for a re-entry that is no hold, because the end of another one crossed it; and without a limit.
func TestAReentryThatAnEndCrossesLeavesNothing(t *testing.T) {
	t.Parallel()
	for what, opt := range map[string]redlatch.LockOption{"limit": redlatch.WithMaxHold(20 * time.Second), "lease": redlatch.WithLease(20 * time.Second)} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, began := s.Tap(), time.Now()
				ctx, l := s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
				outer := check.Must(l.Lock(ctx, opt))
				middle := check.Must(l.Lock(ctx, opt))
				tap.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
					replies, trip := send(commands...), 100*time.Millisecond // longer than anybody waits for what tells Redis
					if slices.ContainsFunc(commands, func(c driver.Command) bool { return anHour(c.Words) }) {
						trip = 2 * time.Second
					}
					time.Sleep(trip)
					return replies
				})
				again := make(chan error, 1)
				go func() { again <- check.ErrOf(l.Lock(ctx, redlatch.WithLease(time.Hour))) }()
				time.Sleep(time.Millisecond)
				middle.Detach()
				check.Is(t, "the re-entry", <-again, redlatch.ErrUnknownOutcome)
				check.Within(t, "the TTL", s.TTL("job"), 59*time.Minute, time.Hour)
				endsWithItsLock(t, outer, s.Stranger().Mutex("job"), began.Add(20*time.Second))
			})
		})
	}
}

// Goal: the same for a member of a Quorum that was missing until shortly before the end.
func TestARestoredMemberThatEndsByItsLimitLeavesNothing(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 3, stage.Sure)
		other := check.Must(all[2].Rival(t, stage.Sure).Mutex("job").Lock(ctx))
		h := check.Must(check.Must(redlatch.NewQuorum(stage.LocksOf(all, "job")...)).Lock(ctx, redlatch.WithMaxHold(70*time.Second)))
		time.Sleep(time.Minute)
		check.Is(t, "Unlock", other.Unlock(ctx), nil)
		<-h.Done()
		time.Sleep(time.Second)
		for i, p := range all {
			if left := p.Memory.Miniredis().TTL("job"); left > 0 {
				t.Errorf("a second behind the end, server %d keeps the lock for %v", i, left)
			}
		}
	})
}

// Goal: the same for the hold of a ticket, whose lease was somebody else's choice.
func TestAHoldOfATicketThatEndsByItsLimitLeavesNothing(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		heir := s.Other(redlatch.Config{MaxHold: 70 * time.Second})
		ticket := check.Must(check.Must(s.Client.Mutex("job").Lock(context.Background())).Ticket())
		check.Is(t, "ExtendTicket", heir.ExtendTicket(context.Background(), ticket, time.Hour), nil)
		began := time.Now()
		h := check.Must(heir.Attach(context.Background(), ticket))
		endsWithItsLock(t, h, s.Stranger().Mutex("job"), began.Add(70*time.Second))
	})
}

// Goal: what Redis was asked for besides is over with the hold, also if that ends before its limit. Method: a ticket that was
// extended is not renewed; a fixed lease ends after an inner hold whose renewals had no answer; an extension that asks for
// more than the limit has none.
func TestAHoldThatEndsBeforeItsLimitLeavesNothing(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]func(t *testing.T, s *stage.Stage) *redlatch.Hold{
		"ticket": func(t *testing.T, s *stage.Stage) *redlatch.Hold {
			tap, heir := s.Tap(), s.Other(redlatch.Config{MaxHold: 70 * time.Minute, LeaseTime: 30 * time.Second})
			ticket := check.Must(check.Must(s.Client.Mutex("job").Lock(context.Background())).Ticket())
			check.Is(t, "ExtendTicket", heir.ExtendTicket(context.Background(), ticket, 3*time.Hour), nil)
			h := check.Must(heir.Attach(context.Background(), ticket))
			tap.Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
				return stage.FailAll(commands, stage.ErrCut)
			})
			time.AfterFunc(30*time.Second, func() { tap.Set(nil) })
			return h
		},
		"renewal": func(t *testing.T, s *stage.Stage) *redlatch.Hold {
			tap, ctx := s.Tap(), s.Client.WithOwner(context.Background())
			h := check.Must(s.Client.Mutex("job").Lock(ctx, redlatch.WithLease(30*time.Minute), redlatch.WithMaxHold(70*time.Minute)))
			check.Is(t, "Extend", h.Extend(context.Background(), time.Second), nil) // the server knows the script
			inner := check.Must(s.Client.Mutex("job").Lock(ctx))
			tap.Set(unanswered(0, anHour))
			time.Sleep(25 * time.Minute)
			check.Is(t, "Unlock", inner.Unlock(ctx), nil)
			return h
		},
		"extension": func(t *testing.T, s *stage.Stage) *redlatch.Hold {
			tap := s.Tap()
			h := check.Must(s.Client.Mutex("job").Lock(context.Background(), redlatch.WithLease(time.Minute), redlatch.WithMaxHold(10*time.Hour)))
			check.Is(t, "Extend", h.Extend(context.Background(), time.Second), nil) // the server knows the script
			tap.Set(unanswered(0, everything))
			check.Is(t, "Extend", h.Extend(context.Background(), 1000*time.Hour), redlatch.ErrUnknownOutcome)
			tap.Set(nil)
			return h
		},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{LeaseTime: time.Hour}, func(t *testing.T, s *stage.Stage) {
				h := test(t, s)
				<-h.Done()
				endsWithItsLock(t, h, s.Stranger().Mutex("job"), time.Now())
			})
		})
	}
}
