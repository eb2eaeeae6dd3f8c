package leases_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// refused has the server refuse matching commands.
func refused(match func(words []string) bool) stage.Around {
	return func(commands []driver.Command, send stage.Sender) []driver.Reply {
		if slices.ContainsFunc(commands, func(c driver.Command) bool { return match(c.Words) }) {
			return stage.FailAll(commands, &driver.ServerError{Message: "OOM command not allowed"})
		}
		return send(commands...)
	}
}

// Goal: a hold that is not renewed leaves its holder the time to stop that is between its deadline and the end of its key,
// whatever else its owner had held. Method: renewals are refused, by a server that answers everything else.
func TestAHoldThatIsNotRenewedHasTimeToStop(t *testing.T) {
	t.Parallel()
	for what, take := range map[string]func(t *testing.T, s *stage.Stage) (h *redlatch.Hold, key string){
		"whose inner hold ended": func(t *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			l, ctx := s.Client.Mutex("job"), s.Client.WithOwner(context.Background())
			outer := check.Must(l.Lock(ctx))
			check.Is(t, "Unlock", check.Must(l.Lock(ctx)).Unlock(ctx), nil)
			s.Tap().Set(refused(anHour))
			return outer, "job"
		},
		"inside one that was not renewed": func(t *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			l, ctx := s.Client.Mutex("job"), s.Client.WithOwner(context.Background())
			outer := check.Must(l.Lock(ctx))
			inner := check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute)))
			s.Tap().Set(refused(anHour))
			time.Sleep(21 * time.Minute)
			check.Is(t, "Unlock", outer.Unlock(ctx), nil)
			return inner, "job"
		},
		"inside one with a limit": func(t *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			l, ctx := s.Client.Mutex("job"), s.Client.WithOwner(context.Background())
			outer := check.Must(l.Lock(ctx, redlatch.WithMaxHold(10*time.Minute)))
			inner := check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour)))
			time.Sleep(time.Second)
			check.Is(t, "Unlock", outer.Unlock(ctx), nil)
			return inner, "job"
		},
		"inside one whose limit has passed": func(t *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			l, ctx := s.Client.Mutex("job"), s.Client.WithOwner(context.Background())
			check.Must(l.Lock(ctx, redlatch.WithMaxHold(2*time.Minute)))
			inner := check.Must(l.Lock(ctx, redlatch.WithLease(time.Hour), redlatch.WithMaxHold(time.Hour)))
			time.Sleep(50 * time.Minute)
			check.Is(t, "Unlock", check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute))).Unlock(ctx), nil)
			return inner, "job"
		},
		"whose inner hold had the same limit": func(t *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			l, ctx := s.Client.Mutex("job"), s.Client.WithOwner(context.Background())
			outer := check.Must(l.Lock(ctx))
			time.Sleep(23*time.Hour + 2*time.Second)
			check.Is(t, "Unlock", check.Must(l.Lock(ctx)).Unlock(ctx), nil)
			return outer, "job"
		},
		"of a ticket": func(_ *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			ticket := check.Must(check.Must(s.Client.Mutex("job").Lock(context.Background())).Ticket())
			h := check.Must(s.Client.Attach(context.Background(), ticket))
			s.Tap().Set(refused(anHour))
			return h, "job"
		},
		"of a ticket, beside a reader": func(_ *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			ctx := context.Background()
			ticket := check.Must(check.Must(s.Client.RWMutex("job").RLocker().Lock(ctx)).Ticket())
			check.Must(s.Stranger().RWMutex("job").RLocker().Lock(ctx, redlatch.WithLease(100*time.Hour))).Detach()
			h := check.Must(s.Client.Attach(ctx, ticket))
			s.Tap().Set(refused(anHour))
			return h, protocol.ReadTimeoutKey("job", h.Owner(), 1)
		},
		"of a Multi that is lost": func(_ *testing.T, s *stage.Stage) (*redlatch.Hold, string) {
			other := check.Must(s.Stranger().Mutex("a").Lock(context.Background())) // which is taken after b
			time.AfterFunc(5*time.Minute, func() { _ = other.Unlock(context.Background()) })
			whole := check.Must(check.Must(redlatch.NewMulti(s.Client.Mutex("a"), s.Client.Mutex("b"))).Lock(context.Background()))
			s.Tap().Set(refused(anHour))
			return whole.Members()[1], "a"
		},
	} {
		t.Run(what, func(t *testing.T) {
			stage.Story(t, redlatch.Config{LeaseTime: time.Hour, MaxHold: 24 * time.Hour}, func(t *testing.T, s *stage.Stage) {
				h, key := take(t, s)
				<-h.Done()
				time.Sleep(time.Second)
				check.Is(t, "Err", h.Err(), redlatch.ErrLost)
				check.Within(t, "a second behind the deadline the lock has", s.TTL(key), 30*time.Second, 36*time.Second)
			})
		})
	}
}

// Goal: the same for a hold with a limit, up to which its renewals and an inner release ask for the lock. Method: they have no
// answer. The client would reach the server again just behind the deadline.
func TestAHoldWhoseRenewalsHaveNoAnswerHasTimeToStop(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{LeaseTime: 2 * time.Minute}, func(t *testing.T, s *stage.Stage) {
		tap, ctx, l := s.Tap(), s.Client.WithOwner(context.Background()), s.Client.Mutex("job")
		h := check.Must(l.Lock(ctx, redlatch.WithMaxHold(130*time.Second)))
		inner := check.Must(l.Lock(ctx, redlatch.WithLease(time.Minute)))
		time.Sleep(20 * time.Second)
		tap.Set(stage.Dead)
		check.Is(t, "the inner Unlock", inner.Unlock(ctx), redlatch.ErrUnknownOutcome)
		time.Sleep(time.Until(h.Deadline()) + 100*time.Millisecond)
		tap.Set(nil)
		time.Sleep(time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		check.Within(t, "the lock has", s.TTL("job"), time.Millisecond, 200*time.Millisecond)
	})
}
