package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

func TestAFieldOfTheInformation(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]string{
		"": "", "run_id": "", "run_id:abc": "abc", "# Server\r\nrun_id:abc\r\nuptime_in_seconds:7\r\n": "abc",
		"run_id: abc \r\n": "abc", "run_id:\r\nother:x\r\n": "",
	} {
		if got := infoField(info, "run_id"); got != want {
			t.Errorf("%q: %q, want %q", info, got, want)
		}
	}
}

// told is a server that answers INFO, and counts that.
type told struct {
	driver.Driver
	reply driver.Reply
	asked int
}

func (d *told) Do(context.Context, driver.Command) driver.Reply {
	d.asked++
	return d.reply
}

// Goal: a server that may have been restarted under a hold does not count until every such hold has ended,
// and a server that does not tell is an error. Method: what it tells, and for how long that is kept.
func TestForHowLongAServerDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, forHowLong)
}

func forHowLong(t *testing.T) {
	up := func(text string) driver.Reply { return driver.Reply{Str: "uptime_in_seconds:" + text + "\r\n"} }
	refused := driver.Reply{Err: &driver.ServerError{Message: "NOPERM no"}}
	busy := driver.Reply{Err: &driver.ServerError{Message: "BUSY Redis is busy running a script"}}
	for name, c := range map[string]struct {
		restart Restart
		reply   driver.Reply
		want    time.Duration
		err     error
		asked   int
	}{
		"just started":               {Restart{Delay: 30 * time.Second}, up("0"), 30 * time.Second, nil, 1},
		"perhaps a second younger":   {Restart{Delay: 30 * time.Second}, up("30"), time.Second, nil, 1},
		"old enough":                 {Restart{Delay: 30 * time.Second}, up("31"), 0, nil, 1},
		"very old":                   {Restart{Delay: 30 * time.Second}, up("86400"), 0, nil, 1},
		"it forgets nothing":         {Restart{Delay: -1}, up("0"), 0, nil, 1},
		"it forgets and tells none":  {Restart{Delay: -1}, refused, 0, nil, 1},
		"it cannot restart":          {Restart{Delay: 30 * time.Second, Never: true}, up("0"), 0, nil, 0},
		"it hides that":              {Restart{Delay: 30 * time.Second}, driver.Reply{Str: "# Server\r\n"}, 0, lockerr.ErrUnsupported, 1},
		"it says nonsense":           {Restart{Delay: 30 * time.Second}, up("long"), 0, lockerr.ErrUnsupported, 1},
		"it refuses":                 {Restart{Delay: 30 * time.Second}, refused, 0, lockerr.ErrUnsupported, 1},
		"it is busy":                 {Restart{Delay: 30 * time.Second}, busy, 0, busy.Err, -1},
		"it does not answer":         {Restart{Delay: 30 * time.Second}, driver.Reply{Err: driver.ErrNotSent}, 0, driver.ErrNotSent, -1},
		"it forgets after no delay":  {Restart{}, up("5"), 0, nil, 1},
		"no delay, and just started": {Restart{}, up("0"), 0, nil, 1},
		"its clock went back":        {Restart{Delay: 30 * time.Second}, up("-5"), 30 * time.Second, nil, 1},
		"older than any time":        {Restart{Delay: 30 * time.Second}, up("9223372036854775807"), 0, nil, 1},
	} {
		d := &told{reply: c.reply}
		c.restart.Timeout = time.Second
		m := Member{Server: &Server{Driver: d, Restart: c.restart}, Ref: &lock.Ref{Name: "job", Lock: "job"}}
		got, err := m.quarantine(context.Background())
		if got != c.want || (err != nil) != (c.err != nil) || !errors.Is(err, c.err) || c.asked >= 0 && d.asked != c.asked || c.asked < 0 && d.asked < 3 {
			t.Errorf("%s: %v, %v after %d questions; want %v, %v after %d", name, got, err, d.asked, c.want, c.err, c.asked)
		}
	}
}

// What this client has seen of one run is an age too: the server's clock may have been set back. A run of
// another name begins anew.
func TestARunThatWasSeenBeforeIsAsOldAsThat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &told{}
		m := Member{Server: &Server{Driver: d, Restart: Restart{Delay: 30 * time.Second, Timeout: time.Second}}, Ref: &lock.Ref{Name: "job", Lock: "job"}}
		for _, c := range []struct {
			run  string
			want time.Duration
		}{{"one", 30 * time.Second}, {"one", 20 * time.Second}, {"one", 10 * time.Second}, {"one", 0}, {"two", 30 * time.Second}, {"two", 20 * time.Second}, {"", 30 * time.Second}} {
			d.reply.Str = fmt.Sprintf("run_id:%s\r\nuptime_in_seconds:0\r\n", c.run)
			if got, err := m.quarantine(context.Background()); err != nil || got != c.want {
				t.Errorf("the run %q does not count for %v, %v; want %v", c.run, got, err, c.want)
			}
			time.Sleep(10 * time.Second)
		}
	})
}

// Goal: a standby that has been up for long does not count when it takes over the address of a member, and a
// first run that has been up for long does. Method: both say that they have been up for a day.
func TestTheUptimeOfASuccessorDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &told{}
		m := Member{Server: &Server{Driver: d, Restart: Restart{Delay: 30 * time.Second, Timeout: time.Second}}, Ref: &lock.Ref{Name: "job", Lock: "job"}}
		for _, c := range []struct {
			run  string
			want time.Duration
		}{{"first", 0}, {"standby", 30 * time.Second}, {"standby", 20 * time.Second}, {"first", 30 * time.Second}} {
			d.reply.Str = fmt.Sprintf("run_id:%s\r\nuptime_in_seconds:86400\r\n", c.run)
			if got, err := m.quarantine(context.Background()); err != nil || got != c.want {
				t.Errorf("the run %q does not count for %v, %v; want %v", c.run, got, err, c.want)
			}
			time.Sleep(10 * time.Second)
		}
	})
}

// Two members on one run of a server are one server, whatever their addresses are: the one that was seen there first.
func TestOneRunIsOneServer(t *testing.T) {
	t.Parallel()
	a, b, c := &Server{Address: "a"}, &Server{Address: "b"}, &Server{Address: "c"}
	o := order{Set: Set{Members: []Member{at(a, 0, "job"), at(b, 0, "job"), at(c, 0, "job")}}}
	a.age("one", 0, time.Now())
	b.age("two", 0, time.Now())
	for i := range o.Members {
		if err := o.oneServer(i); err != nil {
			t.Errorf("member %d: %v", i, err)
		}
	}
	c.age("two", 0, time.Now())
	for i, one := range []bool{false, false, true} {
		_, refused := errors.AsType[*lockerr.ConfigError](o.oneServer(i))
		if refused != one {
			t.Errorf("member %d is one with another: %v", i, refused)
		}
	}
}

// onTheMove is a driver that knows which run of a server its link leads to.
type onTheMove struct {
	*site
	moves atomic.Int64
	run   func(moves int64) string
}

func (d *onTheMove) RunID() (run string, moves int64) {
	moves = d.moves.Load()
	return d.run(moves), moves
}

// Goal: a grant does not count as one of another server than the one that gave it. Otherwise one server could count
// twice. Method: the link of the only member moves after so many grants, or is first made at the first of them.
func TestAGrantOfAFormerServerDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, run := range []func(link int64) string{
		func(moves int64) string { return fmt.Sprint("run", moves) },
		func(moves int64) string { return strings.Repeat("there", int(min(moves, 1))) }, // none at first
		func(int64) string { return "here, and elsewhere in between" },
	} {
		aGrantOfAFormerServer(t, run)
	}
}

func aGrantOfAFormerServer(t *testing.T, run func(moves int64) string) {
	for moves, want := range []error{nil, nil, errMoved} {
		story(t, 1, func(s *stage) {
			s.teach()
			at, left, grants := s.sites[0], int64(moves), 0
			d := &onTheMove{site: at, run: run}
			at.Server.Driver, at.Restart.Delay = d, -1
			at.Spoil(func(_ context.Context, _ []string, send func() driver.Reply) driver.Reply {
				free := !at.holds("job")
				reply := send()
				if free && at.holds("job") {
					if grants++; left > d.moves.Load() {
						d.moves.Add(1)
					}
				}
				return reply
			})
			h, err := s.lockMajority(s.limited(), lock.Options{Lease: lease})
			if !errors.Is(err, want) || err == nil && want != nil || grants != min(moves+1, 2) {
				t.Errorf("%d moves: %d grants and the error %v, want %v", moves, grants, err, want)
			}
			if err == nil {
				s.unlock(h)
			}
		})
	}
}
