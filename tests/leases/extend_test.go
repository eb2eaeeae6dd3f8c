package leases_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// A fixed lease that is made longer (Hold.Extend).

// singles are the single locks that can have a fixed lease.
var singles = []string{"mutex", "fair", "write", "read", "fenced"}

// Goal: a hold lasts as long as it was extended, here and in Redis, and ends then.
func TestExtendMakesAFixedLeaseLonger(t *testing.T) {
	t.Parallel()
	for _, kind := range singles {
		l := stage.Ways[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				url := "memory://" + redistest.Name(t)
				c, d := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url)
				h := check.Must(l.Of(c, "job").Lock(t.Context(), append(l.Opts, redlatch.WithLease(time.Minute))...))
				token := h.Token()
				time.Sleep(50 * time.Second)
				check.Is(t, "Extend", h.Extend(t.Context(), 5*time.Minute), nil)
				check.Within(t, "the time to the deadline", time.Until(h.Deadline()), 296*time.Second, 297*time.Second)
				check.Within(t, "the TTL", fixture.Do(t, d, "PTTL", "job").Int, 299_000, 300_000)
				// What is shorter changes nothing.
				before := h.Deadline()
				check.Is(t, "Extend", h.Extend(t.Context(), time.Second), nil)
				if !h.Deadline().Equal(before) {
					t.Errorf("the deadline was %v, is %v", before, h.Deadline())
				}
				check.Within(t, "the TTL", fixture.Do(t, d, "PTTL", "job").Int, 299_000, 300_000)
				time.Sleep(4 * time.Minute)
				if !h.Valid() || h.Token() != token || fixture.Do(t, d, "EXISTS", "job").Int != 1 {
					t.Errorf("after four minutes the hold is %v", h.Err())
				}
				time.Sleep(time.Minute)
				check.Is(t, "Err", h.Err(), redlatch.ErrLost)
				check.Is(t, "Extend", h.Extend(t.Context(), time.Minute), redlatch.ErrLost)
			})
		})
	}
}

// silenced does to a number of commands what a broken connection does: it carries them out and loses the
// reply.
type silenced struct {
	driver.Driver
	replies atomic.Int64 // to be lost
	asked   atomic.Int64
}

func (d *silenced) Do(ctx context.Context, command driver.Command) driver.Reply {
	d.asked.Add(1)
	reply := d.Driver.Do(ctx, command)
	if d.replies.Add(-1) >= 0 {
		return driver.Reply{Err: io.ErrUnexpectedEOF}
	}
	return reply
}

func (d *silenced) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.asked.Add(1)
	replies := d.Driver.Pipeline(ctx, commands...)
	if d.replies.Add(-1) >= 0 {
		for i := range replies {
			replies[i] = driver.Reply{Err: io.ErrUnexpectedEOF}
		}
	}
	return replies
}

func TestExtendWithLostReplies(t *testing.T) {
	t.Parallel()
	for lost, want := range map[int64]error{1: nil, 3: nil, 1 << 40: redlatch.ErrUnknownOutcome} {
		synctest.Test(t, func(t *testing.T) {
			url := "memory://" + redistest.Name(t)
			d := &silenced{Driver: fixture.Raw(t, url)}
			c := fixture.OpenOn(t, d)
			h := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
			before := h.Deadline()
			d.replies.Store(lost)
			check.Is(t, "Extend", h.Extend(t.Context(), time.Hour), want)
			d.replies.Store(0)
			if moved := h.Deadline().After(before); moved != (want == nil) {
				t.Errorf("after %d lost replies the deadline has moved: %v", lost, moved)
			}
			if pttl := fixture.Do(t, fixture.Raw(t, url), "PTTL", "job").Int; h.Deadline().After(time.Now().Add(time.Duration(pttl) * time.Millisecond)) {
				t.Errorf("the hold ends at %v, the key after %v ms", h.Deadline(), pttl)
			}
			check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
		})
	}
}

// Goal: the deadline passes while the reply is under way. The hold is lost then, and what was
// extended for nobody does not stay.
func TestAnExtensionThatComesTooLateIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		d := &stage.HeldBack{Driver: fixture.Raw(t, url), Asked: make(chan struct{}), Let: make(chan struct{})}
		d.Once.Do(func() {})
		c := check.Must(redlatch.New(d, fixture.Quiet(redlatch.Config{CommandTimeout: time.Hour})))
		h := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
		check.Is(t, "Extend", h.Extend(t.Context(), time.Minute), nil) // the server knows the script by now
		slow := &stage.HeldBack{Driver: d.Driver, Asked: d.Asked, Let: d.Let}
		d.Driver = slow
		time.Sleep(59 * time.Second)
		extended := make(chan error, 1)
		go func() { extended <- h.Extend(t.Context(), time.Hour) }()
		<-slow.Asked
		time.Sleep(2 * time.Second)
		check.Is(t, "Err", h.Err(), redlatch.ErrLost)
		close(slow.Let)
		check.Is(t, "Extend", <-extended, redlatch.ErrLost)
		if fixture.Do(t, fixture.Raw(t, url), "EXISTS", "job").Int != 0 {
			t.Error("the lock stays for an hour")
		}
		check.Is(t, "Close", c.Close(t.Context()), nil)
	})
}

func TestExtendOfAHoldThatIsOver(t *testing.T) {
	t.Parallel()
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		gone := check.Must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		fixture.Do(t, d, "DEL", name)
		next := check.Must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		check.Is(t, "Extend of what is gone", gone.Extend(t.Context(), time.Hour), redlatch.ErrLost)
		check.Is(t, "Err", gone.Err(), redlatch.ErrLost)
		check.Is(t, "Unlock", next.Unlock(t.Context()), nil)
		last := check.Must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		check.Is(t, "Extend of what is released", next.Extend(t.Context(), time.Hour), redlatch.ErrReleased)
		check.Within(t, "the TTL of the other's hold", fixture.Do(t, d, "PTTL", name).Int, 1, 60_000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		check.Is(t, "Extend without time", last.Extend(ctx, time.Hour), context.Canceled)
		if !last.Valid() {
			t.Error("an error has ended the hold")
		}
		check.Is(t, "Unlock", last.Unlock(t.Context()), nil)
	})
}

// An owner's holds share one expiry: an extension of any serves all, and goes no further than the
// limit of a hold.
func TestExtendUnderReentryAndWithALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		c := fixture.Open(t, url, redlatch.Config{})
		ctx := c.WithOwner(t.Context())
		outer := check.Must(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		inner := check.Must(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		check.Is(t, "Extend", inner.Extend(ctx, 10*time.Minute), nil)
		check.Is(t, "Unlock", inner.Unlock(ctx), nil)
		time.Sleep(9 * time.Minute)
		if !outer.Valid() {
			t.Errorf("after nine minutes the outer hold is %v", outer.Err())
		}
		check.Is(t, "Unlock", outer.Unlock(ctx), nil)

		renewed := check.Must(c.Mutex("job").Lock(ctx))
		check.Is(t, "Extend", renewed.Extend(ctx, 10*time.Minute), nil)
		check.Is(t, "Extend", renewed.Extend(ctx, time.Minute), nil)
		time.Sleep(20 * time.Minute)
		check.Within(t, "the time to the deadline", time.Until(renewed.Deadline()), 9*time.Minute, 10*time.Minute)
		check.Within(t, "the TTL", fixture.Do(t, fixture.Raw(t, url), "PTTL", "job").Int, 540_000, 600_000)
		check.Is(t, "Unlock", renewed.Unlock(ctx), nil)

		limited := check.Must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute), redlatch.WithMaxHold(5*time.Minute)))
		check.Is(t, "Extend", limited.Extend(ctx, time.Hour), nil)
		check.Within(t, "the time to the deadline", time.Until(limited.Deadline()), 4*time.Minute, 5*time.Minute)
		check.Within(t, "the TTL", fixture.Do(t, fixture.Raw(t, url), "PTTL", "job").Int, 240_000, 300_000)
	})
}

// Goal: where there is nothing to extend, nothing is sent, and the hold stays as it is.
func TestExtendIsRefusedWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	d := &silenced{Driver: fixture.Raw(t, "memory://"+redistest.Name(t))}
	c, err := redlatch.New(d, fixture.Quiet(redlatch.Config{RestartDelay: -1}))
	fixture.ClosedAtEnd(t, c, err)
	lease := redlatch.WithLease(20 * time.Second)
	for what, h := range map[string]*redlatch.Hold{
		"cohort":    check.Must(c.Mutex("b").Lock(t.Context(), redlatch.WithCohort(time.Minute))),
		"multi":     check.Must(check.Must(redlatch.NewMulti(c.Mutex("c"), c.Mutex("d"))).Lock(t.Context(), lease)),
		"quorum":    check.Must(check.Must(redlatch.NewQuorum(c.Mutex("e"))).Lock(t.Context(), lease)),
		"too short": check.Must(c.Mutex("f").Lock(t.Context(), lease)),
	} {
		longer := 5 * time.Minute
		if what == "too short" {
			longer = time.Millisecond
		}
		before := d.asked.Load()
		err := h.Extend(t.Context(), longer)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != "Extend" || !h.Valid() || d.asked.Load() != before {
			t.Errorf("%s: Extend is %v, the hold %v, %d requests", what, err, h.Err(), d.asked.Load()-before)
		}
		if text := err.Error(); strings.Contains(text, "\n") {
			t.Errorf("%s: %s", what, text)
		}
		check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
	}
}

// Goal: after an error a hold lasts as long as before, also when its owner has re-entered.
func TestAnExtensionThatIsRefusedChangesNothing(t *testing.T) {
	for _, kind := range singles {
		l := stage.Ways[kind]
		t.Run(kind, func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				tap, ctx := s.Tap(), s.Client.WithOwner(t.Context())
				h := check.Must(l.Of(s.Client, "job").Lock(ctx, l.Opts...))
				tap.Set(stage.Refusing("NOPERM this user has no permissions", stage.Changing))
				if err := h.Extend(t.Context(), time.Hour); err == nil {
					t.Error("it was extended")
				}
				tap.Set(nil)
				check.Is(t, "Unlock", check.Must(l.Of(s.Client, "job").Lock(ctx)).Unlock(t.Context()), nil)
				time.Sleep(time.Minute)
				check.Within(t, "the lease", h.Lease(), 30*time.Second, 30*time.Second)
				check.Within(t, "the TTL", s.TTL("job"), 20*time.Second, 30*time.Second)
				check.Is(t, "Unlock", h.Unlock(t.Context()), nil)
			})
		})
	}
}
