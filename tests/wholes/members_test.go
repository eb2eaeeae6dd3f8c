package wholes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// wrapped is a lock of the user's own.
type wrapped struct{ *redlatch.Mutex }

// What cannot be a member is said at once, and nothing panics.
func TestWhatCannotBeAMemberIsSaidAtOnce(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		good := s.Client.Mutex("a")
		makers := map[string]func(...redlatch.Lock) error{
			"NewMulti":  func(l ...redlatch.Lock) error { _, err := redlatch.NewMulti(l...); return err },
			"NewQuorum": func(l ...redlatch.Lock) error { _, err := redlatch.NewQuorum(l...); return err },
		}
		for name, bad := range map[string]redlatch.Lock{
			"nil":               nil,
			"nil Mutex":         (*redlatch.Mutex)(nil),
			"nil RWMutex":       (*redlatch.RWMutex)(nil),
			"nil Multi":         (*redlatch.Multi)(nil),
			"nil Quorum":        (*redlatch.Quorum)(nil),
			"read side of nil":  (*redlatch.RWMutex)(nil).RLocker(),
			"zero Mutex":        &redlatch.Mutex{},
			"zero RWMutex":      &redlatch.RWMutex{},
			"read side of zero": (&redlatch.RWMutex{}).RLocker(),
			"lock of the user":  wrapped{good},
			"zero Multi":        &redlatch.Multi{},
		} {
			for maker, of := range makers {
				var wrong *redlatch.ConfigError
				if err := of(good, bad); !errors.As(err, &wrong) || wrong.Field != maker || !strings.Contains(wrong.Reason, "lock 2") || strings.Contains(name, "nil") != strings.Contains(wrong.Reason, " is nil") {
					t.Errorf("%s of a %s: %v, want a ConfigError about lock 2", maker, name, err)
				}
			}
		}
		for maker, of := range makers {
			var wrong *redlatch.ConfigError
			if err := of(); !errors.As(err, &wrong) {
				t.Errorf("%s of nothing: %v", maker, err)
			}
			if err := of(s.Client.Mutex("")); !errors.Is(err, redlatch.ErrInvalidName) {
				t.Errorf("%s of a lock without a name: %v", maker, err)
			}
			if err := of(good); err != nil {
				t.Errorf("%s of a good lock: %v", maker, err)
			}
		}
	})
}

// The zero values of Multi and Quorum are sets without members.
func TestZeroSetsCannotBeTaken(t *testing.T) {
	for _, l := range []redlatch.Lock{&redlatch.Multi{}, &redlatch.Quorum{}} {
		var wrong *redlatch.ConfigError
		if _, err := l.Lock(t.Context()); !errors.As(err, &wrong) {
			t.Errorf("Lock of a zero %T: %v", l, err)
		}
	}
}

func TestAHoldKnowsItsName(t *testing.T) {
	stage.Story(t, redlatch.Config{RestartDelay: -1}, func(t *testing.T, s *stage.Stage) {
		c := s.Client
		for want, l := range map[string]redlatch.Lock{
			"a":         c.Mutex("a"),
			"b":         c.FairMutex("b"),
			"c":         c.RWMutex("c"),
			"d":         c.RWMutex("d").RLocker(),
			"{e}1+{e}2": check.Must(redlatch.NewMulti(c.Mutex("{e}2"), c.Mutex("{e}1"))),
			"g":         check.Must(redlatch.NewQuorum(c.Mutex("g"))),
		} {
			h := check.Must(l.Lock(context.WithoutCancel(t.Context())))
			if h.Name() != want || l.Name() != want {
				t.Errorf("the hold of %q is of %q", l.Name(), h.Name())
			}
			_ = h.Unlock(t.Context())
			if h.Name() != want {
				t.Errorf("after Unlock the hold of %q is of %q", want, h.Name())
			}
		}
	})
}

func TestStatusNamesItsMode(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c := fixture.Open(t, url, redlatch.Config{})
		m, rw := c.Mutex(t.Name()+"m"), c.RWMutex(t.Name()+"rw")
		wantMode := func(status func(context.Context) (redlatch.Status, error), want redlatch.Mode) {
			t.Helper()
			if s := check.Must(status(t.Context())); s.Mode != want || s.Locked != (want != "") {
				t.Errorf("mode %q, locked %v, want %q", s.Mode, s.Locked, want)
			}
		}
		wantMode(m.Status, "")
		wantMode(rw.Status, "")
		hm, hr := check.Must(m.Lock(t.Context())), check.Must(rw.RLock(t.Context()))
		wantMode(m.Status, redlatch.ModeExclusive)
		wantMode(rw.Status, redlatch.ModeRead)
		_ = hm.Unlock(t.Context())
		_ = hr.Unlock(t.Context())
		hw := check.Must(rw.Lock(t.Context()))
		wantMode(rw.Status, redlatch.ModeWrite)
		_ = hw.Unlock(t.Context())
	})
}

// On several servers a lock has one name, so an error without its server helps nobody.
func TestErrorsOfMembersNameTheirServers(t *testing.T) {
	t.Parallel()
	cfg := redlatch.Config{RestartDelay: -1, LeaseTime: time.Second, CommandTimeout: time.Second, ReleaseTimeout: 200 * time.Millisecond}
	a, b, c := redistest.Start(t), redistest.Start(t), redistest.Start(t)
	ca, cb, cc := fixture.Open(t, a.URL(), cfg), fixture.Open(t, b.URL(), cfg), fixture.Open(t, c.URL(), cfg)
	three := check.Must(redlatch.NewQuorum(ca.Mutex("job"), cb.Mutex("job"), cc.Mutex("job")))
	other := check.Must(redlatch.NewMulti(cb.Mutex("job"), cc.Mutex("job")))
	taken := check.Must(other.Lock(t.Context()))
	_, err := three.TryLock(t.Context())
	check.Is(t, "TryLock", err, redlatch.ErrNotAcquired)
	if !strings.Contains(err.Error(), b.Addr()) && !strings.Contains(err.Error(), c.Addr()) {
		t.Errorf("refused by %s and %s: %v", b.Addr(), c.Addr(), err)
	}
	_ = taken.Unlock(t.Context())

	both := check.Must(redlatch.NewQuorum(ca.Mutex("job"), cb.Mutex("job")))
	hold := check.Must(both.Lock(t.Context()))
	b.Kill()
	select {
	case <-hold.Done():
	case <-time.After(time.Minute):
		t.Fatal("the hold does not end")
	}
	if !strings.Contains(hold.Err().Error(), b.Addr()) {
		t.Errorf("lost on %s: %v", b.Addr(), hold.Err())
	}
	_ = hold.Unlock(t.Context()) // until then its members may refuse another owner of their clients
	_, err = both.TryLock(t.Context())
	if err == nil || !strings.Contains(err.Error(), b.Addr()) {
		t.Errorf("%s is down: %v", b.Addr(), err)
	}
}
