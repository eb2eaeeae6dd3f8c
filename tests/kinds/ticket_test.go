package kinds_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A hold that goes to another process by a ticket.

// passable are the kinds whose holds have a ticket.
func passable(k scene.Kind) bool { return k.Sort == scene.One }

// attach takes a hold over.
func attach(s *scene.Scene, p *scene.Process, ticket string) (scene.Taken, error) {
	h, err := p.Clients[0].Attach(s.Context(), ticket)
	return scene.Taken{Hold: h, Way: s.Lock}, err
}

// passed takes the lock in a new process, which hands it over. The servers know the scripts.
func passed(s *scene.Scene) string {
	p := s.Stranger()
	h := check.Must(attach(s, p, check.Must(check.Must(p.Lock.Lock(s.Context())).Ticket())))
	return check.Must(h.Ticket())
}

// Goal: others are kept out from the first Lock to the last Unlock, and of all who attach one ticket, one has a hold.
func TestATicketGivesAHoldToOneProcess(t *testing.T) {
	scene.EachThat(t, passable, redlatch.Config{}, func(s *scene.Scene) {
		var opts []redlatch.LockOption
		if s.Lock.HasOwner() {
			opts = append(opts, redlatch.WithFencing())
		}
		rival, ctx, heirs := s.Stranger().Rival, s.Context(), [2]*scene.Process{s.Other(redlatch.Config{}), s.Other(redlatch.Config{})}
		keptOut := func(when string) {
			check.Is(s.T, when, check.ErrOf(rival.TryLock(ctx)), redlatch.ErrNotAcquired)
		}
		first := check.Must(s.Home.Lock.Lock(ctx, opts...))
		token, ticket := first.Token(), check.Must(first.Ticket())
		check.Is(s.T, "Err after Ticket", first.Err(), redlatch.ErrReleased)
		check.Is(s.T, "the second Ticket", check.ErrOf(first.Ticket()), redlatch.ErrReleased)
		check.Is(s.T, "Unlock after Ticket", first.Unlock(ctx), nil)
		keptOut("on the way")
		time.Sleep(20 * time.Second)
		check.Within(s.T, "what is left of the lease on the way", s.Left(), 9*time.Second, 11*time.Second)
		check.Is(s.T, "ExtendTicket", heirs[0].Clients[0].ExtendTicket(ctx, ticket, time.Minute), nil)
		check.Within(s.T, "what is left of it then", s.Left(), 59*time.Second, 61*time.Second)
		time.Sleep(50 * time.Second)
		check.Is(s.T, "ExtendTicket for the lease of the hold", heirs[0].Clients[0].ExtendTicket(ctx, ticket, 0), nil)
		check.Within(s.T, "what is left of it then", s.Left(), 29*time.Second, 31*time.Second)

		var holds []scene.Taken
		told := make(chan error, len(heirs))
		for _, p := range heirs {
			go func() {
				h, err := attach(s, p, ticket)
				if err == nil {
					holds = append(holds, h)
				}
				told <- err
			}()
		}
		one, two := <-told, <-told
		if one == nil {
			one, two = two, one
		}
		check.Is(s.T, "the first who attaches", two, nil)
		check.Is(s.T, "the second who attaches", one, redlatch.ErrLost)
		heir := holds[0]
		s.Holds("with the heir", heir)
		if heir.Token() != token || heir.Owner() == first.Owner() {
			s.Errorf("the heir has the token %d of %d, and the owner %s of %s", heir.Token(), token, heir.Owner(), first.Owner())
		}
		for range 4 {
			time.Sleep(25 * time.Second)
			keptOut("with the heir")
		}
		check.Is(s.T, "ExtendTicket after Attach", s.Home.Clients[0].ExtendTicket(ctx, ticket, time.Minute), redlatch.ErrLost)
		back, err := attach(s, s.Home, check.Must(heir.Ticket()))
		check.Is(s.T, "Attach where it was taken", err, nil)
		s.Holds("at home again", back)
		s.Home.Free(back.Hold)
		s.Holds("after Unlock")
		check.Is(s.T, "Attach after Unlock", check.ErrOf(attach(s, s.Home, ticket)), redlatch.ErrLost)
	})
}

func TestOneLostRequestOrReplyLosesNoTicket(t *testing.T) {
	for name, what := range fates {
		t.Run(name, func(t *testing.T) {
			scene.EachThat(t, passable, redlatch.Config{}, func(s *scene.Scene) {
				ticket := passed(s)
				s.SpoilOnce(what)
				check.Is(s.T, "ExtendTicket", s.Home.Clients[0].ExtendTicket(s.Context(), ticket, time.Minute), nil)
				s.SpoilOnce(what)
				h, err := attach(s, s.Home, ticket)
				check.Is(s.T, "Attach", err, nil)
				s.Holds("after Attach", h)
				s.Home.Free(h.Hold)
			})
		})
	}
}

// Goal: who learns nothing has no hold, and nobody else enters. As far as the server can be reached, the ticket is good
// again. Method: replies are lost to all requests of a kind.
func TestAnAttachWithoutAnAnswerKeepsTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		fates []stage.Fate
		err   error
		good  bool // the ticket, afterwards
	}{
		"carried out":                   {fates: []stage.Fate{stage.AnswerLost}, err: redlatch.ErrUnknownOutcome, good: true},
		"not carried out":               {fates: []stage.Fate{stage.Lost}, err: redlatch.ErrUnknownOutcome, good: true},
		"not sent":                      {fates: []stage.Fate{stage.NotSent}, good: true},
		"carried out, and then cut off": {fates: []stage.Fate{stage.AnswerLost, stage.Lost}, err: redlatch.ErrUnknownOutcome},
	} {
		t.Run(name, func(t *testing.T) {
			scene.EachThat(t, passable, redlatch.Config{}, func(s *scene.Scene) {
				ticket, rival, at := passed(s), s.Stranger().Rival, 0
				s.Spoil(func() func([]string) stage.Fate {
					return func([]string) stage.Fate {
						at++
						return c.fates[min(at, len(c.fates))-1]
					}
				})
				_, err := attach(s, s.Home, ticket)
				if err == nil || c.err != nil && !errors.Is(err, c.err) || c.err == nil && errors.Is(err, redlatch.ErrUnknownOutcome) {
					s.Errorf("Attach: %v, want %v", err, c.err)
				}
				time.Sleep(4 * time.Second) // the way back has been tried
				s.Net(nil)
				check.Is(s.T, "TryLock of another", check.ErrOf(rival.TryLock(s.Context())), redlatch.ErrNotAcquired)
				h, err := attach(s, s.Other(redlatch.Config{}), ticket)
				if c.good {
					check.Is(s.T, "Attach once more", err, nil)
					s.Home.Free(h.Hold)
					return
				}
				check.Is(s.T, "Attach once more", err, redlatch.ErrLost)
				check.Must(rival.Lock(s.Context(), redlatch.WithWait(30*time.Second))).Unlock(s.Context())
			})
		})
	}
}

// Goal: a caller who has no time for the answer leaves the ticket as good as it was.
func TestACancelledAttachMovesTheHoldBack(t *testing.T) {
	scene.EachThat(t, passable, redlatch.Config{}, func(s *scene.Scene) {
		ticket := passed(s)
		for _, limit := range []time.Duration{0, 100 * time.Millisecond} {
			limited, cancel := context.WithTimeout(s.Context(), limit)
			s.Spoil(func() func([]string) stage.Fate {
				return func([]string) stage.Fate {
					if limited.Err() == nil {
						return stage.AnswerLost
					}
					return stage.Arrives
				}
			})
			check.Is(s.T, "Attach without time", check.ErrOf(s.Home.Clients[0].Attach(limited, ticket)), redlatch.ErrNotAcquired, context.DeadlineExceeded)
			cancel()
			s.Net(nil)
		}
		h, err := attach(s, s.Home, ticket)
		check.Is(s.T, "Attach", err, nil)
		s.Home.Free(h.Hold)
	})
}

func TestATicketThatIsOverIsLost(t *testing.T) {
	scene.EachThat(t, passable, redlatch.Config{}, func(s *scene.Scene) {
		for what, over := range map[string]func(){
			"after its lease":   func() { time.Sleep(31 * time.Second) },
			"of another server": s.Vanish,
		} {
			ticket := passed(s)
			over()
			check.Is(s.T, "Attach "+what, check.ErrOf(attach(s, s.Home, ticket)), redlatch.ErrLost)
			check.Is(s.T, "ExtendTicket "+what, s.Home.Clients[0].ExtendTicket(s.Context(), ticket, 0), redlatch.ErrLost)
		}
		p := s.Stranger()
		check.Is(s.T, "Close", p.Close(), nil)
		ticket := passed(s)
		check.Is(s.T, "Attach after Close", check.ErrOf(attach(s, p, ticket)), redlatch.ErrClosed)
		check.Is(s.T, "ExtendTicket after Close", p.Clients[0].ExtendTicket(s.Context(), ticket, 0), redlatch.ErrClosed)
	})
}

// refusedBy fails unless an error is a *ConfigError of that field, and does not tell the secret.
func refusedBy(s *scene.Scene, what string, err error, field, secret string) {
	s.Helper()
	if wrong, is := errors.AsType[*redlatch.ConfigError](err); !is || wrong.Field != field || secret != "" && strings.Contains(err.Error(), secret) {
		s.Errorf("%s: %v, want a ConfigError of %s", what, err, field)
	}
}

// Goal: what a ticket cannot tell stays where it is.
func TestWhatATicketCannotTellIsRefused(t *testing.T) {
	scene.Each(t, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		outer := check.Must(s.Home.Lock.Lock(ctx))
		holds := outer.Members()
		if !passable(s.Kind) {
			holds = append(holds, outer)
		}
		if passable(s.Kind) && s.CanReenter() {
			inner := check.Must(s.Home.Inside.Lock(ctx))
			holds = append(holds, outer, inner)
			defer s.Home.Free(inner)
		}
		for _, h := range holds {
			refusedBy(s, "Ticket", check.ErrOf(h.Ticket()), "Ticket", "")
			if !h.Valid() {
				s.Errorf("after Ticket was refused the hold is over: %v", h.Err())
			}
		}
		s.Home.Free(outer)
	})
	scene.EachThat(t, func(k scene.Kind) bool { return k.Name == "mutex" || k.Name == "fair" }, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context(), redlatch.WithMinHold(time.Minute)))
		refusedBy(s, "Ticket before the end of WithMinHold", check.ErrOf(h.Ticket()), "Ticket", "")
		time.Sleep(time.Minute)
		heir, err := attach(s, s.Home, check.Must(h.Ticket()))
		check.Is(s.T, "Attach after it", err, nil)
		s.Home.Free(heir.Hold)

		ticket := passed(s)
		for _, wrong := range []string{"", "rlt1.", ticket[:len(ticket)-3], ticket[1:], ticket + "A", ticket[:20] + string(ticket[20]^1) + ticket[21:], "rlt1.AAAAAA"} {
			refusedBy(s, "Attach", check.ErrOf(attach(s, s.Home, wrong)), "ticket", ticket[10:18])
			refusedBy(s, "ExtendTicket", s.Home.Clients[0].ExtendTicket(s.Context(), wrong, 0), "ticket", ticket[10:18])
		}
		refusedBy(s, "ExtendTicket", s.Home.Clients[0].ExtendTicket(s.Context(), ticket, -1), "ExtendTicket", "")
	})
}

// Goal: a client never has a hold beside another one of its own that excludes it, whatever the server says. Method: the server
// has forgotten the first, and the client does not know.
func TestAClientAttachesNothingBesideWhatItHolds(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return passable(k) && !k.Shared() && k.Lock.HasOwner() }, redlatch.Config{}, func(s *scene.Scene) {
		old := check.Must(s.Home.Lock.Lock(s.Context()))
		s.Vanish()
		ticket := passed(s)
		check.Is(s.T, "Attach", check.ErrOf(attach(s, s.Home, ticket)), redlatch.ErrNotAcquired)
		time.Sleep(time.Second) // the client has asked
		check.Is(s.T, "Err of the former hold", old.Err(), redlatch.ErrLost)
		h, err := attach(s, s.Home, ticket)
		check.Is(s.T, "Attach then", err, nil)
		s.Home.Free(h.Hold)
	})
}

// Goal: an owner whose other holds have all ended can hand over the one that is left, as soon as Redis has confirmed an end that is
// later than those without an answer. Method: the end of the first inner hold has no answer, and that of the second has one.
func TestALaterEndMakesUpForOneWithoutAnAnswer(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return passable(k) && k.CanReenter() }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h, first := check.Must(s.Home.Lock.Lock(ctx)), check.Must(s.Home.Inside.Lock(ctx))
		s.Spoil(func() func([]string) stage.Fate { return func([]string) stage.Fate { return stage.Lost } })
		check.Is(s.T, "Unlock without an answer", first.Unlock(ctx), redlatch.ErrUnknownOutcome)
		s.Net(nil)
		refusedBy(s, "Ticket", check.ErrOf(h.Ticket()), "Ticket", "")
		s.Home.Free(check.Must(s.Home.Inside.Lock(ctx)))
		heir := check.Must(attach(s, s.Other(redlatch.Config{}), check.Must(h.Ticket())))
		s.Holds("with the heir", heir)
		s.Home.Free(heir.Hold)
	})
}

// Goal: what a re-entry without an answer left in Redis bars nobody once the hold is handed over.
func TestAReentryWithoutAnAnswerDoesNotGoWithTheTicket(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return passable(k) && k.CanReenter() }, redlatch.Config{}, func(s *scene.Scene) {
		ctx := s.Home.Owner()
		h := check.Must(s.Home.Lock.Lock(ctx))
		s.Spoil(func() func([]string) stage.Fate { return func([]string) stage.Fate { return stage.AnswerLost } })
		limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		check.Is(s.T, "the re-entry", check.ErrOf(s.Home.Inside.Lock(limited)), context.DeadlineExceeded)
		s.Net(nil)
		heir := check.Must(attach(s, s.Other(redlatch.Config{}), check.Must(h.Ticket())))
		time.Sleep(31 * time.Second) // a second timeout key is over
		s.Holds("with the heir", heir)
		s.Home.Free(heir.Hold)
	})
}
