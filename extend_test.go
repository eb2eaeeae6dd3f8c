package redlatch_test

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
)

// A fixed lease that is made longer (Hold.Extend).

// singles are the single locks that can have a fixed lease.
var singles = []string{"mutex", "fair", "write", "read", "fenced"}

// Goal: a hold lasts as long as it was extended, here and in Redis, and ends then.
func TestExtendMakesAFixedLeaseLonger(t *testing.T) {
	t.Parallel()
	for _, kind := range singles {
		l := prefixed[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				url := "memory://" + redistest.Name(t)
				c, d := open(t, url, redlatch.Config{}), raw(t, url)
				h := must(l.of(c, "job").Lock(t.Context(), append(l.opts, redlatch.WithLease(time.Minute))...))
				token := h.Token()
				time.Sleep(50 * time.Second)
				is(t, "Extend", h.Extend(t.Context(), 5*time.Minute), nil)
				within(t, "the time to the deadline", time.Until(h.Deadline()), 296*time.Second, 297*time.Second)
				within(t, "the TTL", do(t, d, "PTTL", "job").Int, 299_000, 300_000)
				// What is shorter changes nothing.
				before := h.Deadline()
				is(t, "Extend", h.Extend(t.Context(), time.Second), nil)
				if !h.Deadline().Equal(before) {
					t.Errorf("the deadline was %v, is %v", before, h.Deadline())
				}
				within(t, "the TTL", do(t, d, "PTTL", "job").Int, 299_000, 300_000)
				time.Sleep(4 * time.Minute)
				if !h.Valid() || h.Token() != token || do(t, d, "EXISTS", "job").Int != 1 {
					t.Errorf("after four minutes the hold is %v", h.Err())
				}
				time.Sleep(time.Minute)
				is(t, "Err", h.Err(), redlatch.ErrLost)
				is(t, "Extend", h.Extend(t.Context(), time.Minute), redlatch.ErrLost)
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
			d := &silenced{Driver: raw(t, url)}
			c := openOn(t, d)
			h := must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
			before := h.Deadline()
			d.replies.Store(lost)
			is(t, "Extend", h.Extend(t.Context(), time.Hour), want)
			d.replies.Store(0)
			if moved := h.Deadline().After(before); moved != (want == nil) {
				t.Errorf("after %d lost replies the deadline has moved: %v", lost, moved)
			}
			if pttl := do(t, raw(t, url), "PTTL", "job").Int; h.Deadline().After(time.Now().Add(time.Duration(pttl) * time.Millisecond)) {
				t.Errorf("the hold ends at %v, the key after %v ms", h.Deadline(), pttl)
			}
			is(t, "Unlock", h.Unlock(t.Context()), nil)
		})
	}
}

// Goal: the deadline passes while the reply is under way. The hold is lost then, and what was
// extended for nobody does not stay.
func TestAnExtensionThatComesTooLateIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		d := &heldBack{Driver: raw(t, url), asked: make(chan struct{}), let: make(chan struct{})}
		d.once.Do(func() {})
		c := must(redlatch.New(d, quiet(redlatch.Config{CommandTimeout: time.Hour})))
		h := must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute)))
		is(t, "Extend", h.Extend(t.Context(), time.Minute), nil) // the server knows the script by now
		slow := &heldBack{Driver: d.Driver, asked: d.asked, let: d.let}
		d.Driver = slow
		time.Sleep(59 * time.Second)
		extended := make(chan error, 1)
		go func() { extended <- h.Extend(t.Context(), time.Hour) }()
		<-slow.asked
		time.Sleep(2 * time.Second)
		is(t, "Err", h.Err(), redlatch.ErrLost)
		close(slow.let)
		is(t, "Extend", <-extended, redlatch.ErrLost)
		if do(t, raw(t, url), "EXISTS", "job").Int != 0 {
			t.Error("the lock stays for an hour")
		}
		is(t, "Close", c.Close(t.Context()), nil)
	})
}

func TestExtendOfAHoldThatIsOver(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, url string) {
		c, d, name := open(t, url, redlatch.Config{}), raw(t, url), redistest.Name(t)
		gone := must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		do(t, d, "DEL", name)
		next := must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		is(t, "Extend of what is gone", gone.Extend(t.Context(), time.Hour), redlatch.ErrLost)
		is(t, "Err", gone.Err(), redlatch.ErrLost)
		is(t, "Unlock", next.Unlock(t.Context()), nil)
		last := must(c.Mutex(name).Lock(t.Context(), redlatch.WithLease(time.Minute)))
		is(t, "Extend of what is released", next.Extend(t.Context(), time.Hour), redlatch.ErrReleased)
		within(t, "the TTL of the other's hold", do(t, d, "PTTL", name).Int, 1, 60_000)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		is(t, "Extend without time", last.Extend(ctx, time.Hour), context.Canceled)
		if !last.Valid() {
			t.Error("an error has ended the hold")
		}
		is(t, "Unlock", last.Unlock(t.Context()), nil)
	})
}

// An owner's holds share one expiry: an extension of any serves all, and goes no further than the
// limit of a hold.
func TestExtendUnderReentryAndWithALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		url := "memory://" + redistest.Name(t)
		c := open(t, url, redlatch.Config{})
		ctx := c.WithOwner(t.Context())
		outer := must(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		inner := must(c.Mutex("job").Lock(ctx, redlatch.WithLease(time.Minute)))
		is(t, "Extend", inner.Extend(ctx, 10*time.Minute), nil)
		is(t, "Unlock", inner.Unlock(ctx), nil)
		time.Sleep(9 * time.Minute)
		if !outer.Valid() {
			t.Errorf("after nine minutes the outer hold is %v", outer.Err())
		}
		is(t, "Unlock", outer.Unlock(ctx), nil)

		limited := must(c.Mutex("job").Lock(t.Context(), redlatch.WithLease(time.Minute), redlatch.WithMaxHold(5*time.Minute)))
		is(t, "Extend", limited.Extend(ctx, time.Hour), nil)
		within(t, "the time to the deadline", time.Until(limited.Deadline()), 4*time.Minute, 5*time.Minute)
		within(t, "the TTL", do(t, raw(t, url), "PTTL", "job").Int, 240_000, 300_000)
	})
}

// Goal: where there is nothing to extend, nothing is sent, and the hold stays as it is.
func TestExtendIsRefusedWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	d := &silenced{Driver: raw(t, "memory://"+redistest.Name(t))}
	c, err := redlatch.New(d, quiet(redlatch.Config{RestartDelay: -1}))
	closedAtEnd(t, c, err)
	lease := redlatch.WithLease(20 * time.Second)
	for what, h := range map[string]*redlatch.Hold{
		"renewed":   must(c.Mutex("a").Lock(t.Context())),
		"cohort":    must(c.Mutex("b").Lock(t.Context(), redlatch.WithCohort(time.Minute))),
		"multi":     must(redlatch.NewMulti(c.Mutex("c"), c.Mutex("d")).Lock(t.Context(), lease)),
		"quorum":    must(redlatch.NewQuorum(c.Mutex("e")).Lock(t.Context(), lease)),
		"too short": must(c.Mutex("f").Lock(t.Context(), lease)),
	} {
		longer := 5 * time.Minute
		if what == "too short" {
			longer = time.Millisecond
		}
		before := d.asked.Load()
		err := h.Extend(t.Context(), longer)
		var config *redlatch.ConfigError
		if !errors.As(err, &config) || config.Field != "Extend" || !h.Valid() || d.asked.Load() != before {
			t.Errorf("%s: Extend is %v, the hold %v, %d requests", what, err, h.Err(), d.asked.Load()-before)
		}
		if text := err.Error(); strings.Contains(text, "\n") {
			t.Errorf("%s: %s", what, text)
		}
		is(t, "Unlock", h.Unlock(t.Context()), nil)
	}
}
