package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// fixed is the backend of a member's hold that a test decides about.
type fixed struct {
	lock.Backend
	deadline time.Time
}

func (f *fixed) Expire() bool        { return false }
func (f *fixed) Valid() bool         { return time.Now().Before(f.deadline) }
func (f *fixed) Deadline() time.Time { return f.deadline }

// heldFor is a member's hold that is valid for so long.
func heldFor(d time.Duration) *lock.Hold {
	h := new(lock.Hold)
	h.Init(&fixed{deadline: time.Now().Add(d)}, context.Background(), new(lock.Options))
	return h
}

// Goal: a group lives for as long as it has, or can still get, as many members as it needs, and a
// quarantined member counts only for a group that is formed. Method: a letter for each member: asked,
// granted, held, missing; a capital one is quarantined.
func TestWhichMembersCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members        string
		formed         bool
		granted, lives bool // enough are granted or held; the group goes on
	}{
		{"aaa", false, false, true},
		{"gaa", false, false, true},
		{"gga", false, true, true},
		{"gha", false, true, true},
		{"hma", false, false, true},
		{"mma", false, false, false},
		{"hmm", false, false, false},
		{"Hha", false, false, true},
		{"HHa", false, false, false},
		{"Hhh", false, true, true},
		{"Ahm", false, false, false},
		{"hhm", true, true, true},
		{"Hhm", true, true, true},
		{"hma", true, false, false},
		{"hmg", true, true, false},
		{"hhhm", true, true, true},
		{"hhma", true, false, false},
		{"hhaa", false, false, true},
	} {
		t.Run(fmt.Sprint(c.members, c.formed), func(t *testing.T) {
			story(t, len(c.members), func(s *stage) {
				g := s.quorum(lock.Options{Lease: lease}).group(s.Context(), s.limited())
				g.mu.Lock()
				for i, letter := range c.members {
					lower := strings.ToLower(string(letter))
					g.entries[i].state = state(strings.Index("aghm", lower))
					if lower != string(letter) {
						g.entries[i].quarantine = time.Second
					}
				}
				g.formed = c.formed
				if got := g.count(granted, held) >= g.need; got != c.granted {
					t.Errorf("enough are granted: %v", got)
				}
				g.check(lockerr.ErrLost)
				g.mu.Unlock()
				if lives := g.hold.Ended() == nil; lives != c.lives {
					t.Errorf("it lives: %v", lives)
				}
				if g.under.Err() == nil != c.lives {
					t.Errorf("its context has ended with %v", g.under.Err())
				}
				_ = g.close()
			})
		})
	}
}

// Goal: a group is over when fewer members than it needs are left, or at its own end. Method: members that
// are held for so many seconds; 0: not at all.
func TestTheDeadlineOfAGroup(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seconds []int
		end     int // of the whole; 0: none
		want    int // 0: no deadline
	}{
		{[]int{9, 5, 7}, 0, 7},
		{[]int{5, 7, 9}, 0, 7},
		{[]int{9, 7, 0}, 0, 7},
		{[]int{9, 0, 0}, 0, 0},
		{[]int{9, 5, 7, 3}, 0, 5},
		{[]int{1, 9, 9, 9, 2}, 0, 9},
		{[]int{4}, 0, 4},
		{[]int{9, 5, 7}, 6, 6},
		{[]int{9, 5, 7}, 8, 7},
		{[]int{9, 0, 0}, 8, 0},
	} {
		story(t, len(c.seconds), func(s *stage) {
			g := s.quorum(lock.Options{Lease: lease}).group(s.Context(), s.limited())
			began := time.Now()
			for i, seconds := range c.seconds {
				if seconds > 0 {
					g.entries[i] = entry{state: held, hold: heldFor(time.Duration(seconds) * time.Second)}
				}
			}
			if c.end > 0 {
				g.end = began.Add(time.Duration(c.end) * time.Second)
			}
			want := time.Duration(c.want) * time.Second
			if got := g.Deadline(); got.IsZero() != (c.want == 0) || c.want > 0 && got.Sub(began) != want {
				t.Errorf("%v with an end at %d: %v, want %v", c.seconds, c.end, got.Sub(began), want)
			}
			if c.want > 0 {
				if time.Sleep(want - 1); !g.Valid() || g.Expire() {
					t.Errorf("%v with an end at %d: over before its deadline", c.seconds, c.end)
				}
				if time.Sleep(time.Nanosecond); g.Valid() && !g.Expire() {
					t.Errorf("%v with an end at %d: not over at its deadline", c.seconds, c.end)
				}
			}
			for i := range g.entries {
				g.entries[i].hold = nil
			}
			_ = g.close()
		})
	}
}

// The lease of a group is the shortest among those of its members, and no longer than its longest time.
func TestTheLeaseOfAGroup(t *testing.T) {
	t.Parallel()
	story(t, 2, func(s *stage) {
		for _, c := range []struct{ whole, longest, member, want time.Duration }{
			{lease, 0, lease, lease}, {lease, time.Second, lease, time.Second}, {lease, time.Hour, 2 * time.Second, 2 * time.Second}, {time.Second, 0, lease, time.Second},
		} {
			g := &group{order: order{whole: lock.Options{Lease: c.whole, MaxHold: c.longest}, each: []lock.Options{{Lease: lease}, {Lease: c.member}}}}
			if got := g.Lease(); got != c.want {
				t.Errorf("%+v: %v", c, got)
			}
		}
	})
}

// A member is taken with the lease of its client at most. A group that is held has the lease that its members have then.
func TestTheLeaseOfAGroupIsThatOfItsMembers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		whole lock.Options
		want  time.Duration
	}{
		{lock.Options{Lease: lease}, lease},
		{lock.Options{Lease: time.Second, Fixed: true}, time.Second},
		{lock.Options{Lease: 5 * time.Minute, Fixed: true}, 5 * time.Minute},
		{lock.Options{Lease: 5 * time.Minute, Fixed: true, MaxHold: time.Minute}, time.Minute},
		{lock.Options{Lease: lease, MaxHold: time.Second}, time.Second},
	} {
		for kind, take := range map[string]func(context.Context, Set, []lock.Options) (*lock.Hold, error){"Multi": LockAll, "Quorum": LockMajority} {
			story(t, 3, func(s *stage) {
				for _, at := range s.sites {
					at.Restart.Delay = time.Hour // the longest lease of a Quorum
				}
				h, err := take(s.limited(), s.set(), same(c.whole, 3))
				if err != nil {
					s.Fatal(kind, err)
				}
				defer h.Unlock(s.limited())
				synctest.Wait() // a Quorum has not waited for its last member
				if got := h.Lease(); got != c.want {
					t.Errorf("%s of %+v: %v, want %v", kind, c.whole, got, c.want)
				}
				for _, m := range h.Members() {
					if got := m.Lease(); got != c.want {
						t.Errorf("a member of a %s of %+v: %v, want %v", kind, c.whole, got, c.want)
					}
				}
			})
		}
	}
}

// When the lease and the limit of the whole begin, the earlier one of the two is its end.
func TestTheEndOfAGroupCountsFromItsBeginning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		whole lock.Options
		want  time.Duration // 0: no end
	}{
		{lock.Options{Lease: lease}, 0},
		{lock.Options{Lease: lease, Fixed: true}, lease},
		{lock.Options{Lease: lease, MaxHold: time.Minute}, time.Minute},
		{lock.Options{Lease: lease, MaxHold: time.Minute, Fixed: true}, lease},
		{lock.Options{Lease: lease, MaxHold: time.Second, Fixed: true}, time.Second},
	} {
		story(t, 1, func(s *stage) {
			g := s.quorum(c.whole).group(s.Context(), s.limited())
			time.Sleep(5 * time.Second) // the wait for the members does not count
			now := time.Now()
			g.begin(now)
			if g.end.IsZero() != (c.want == 0) || c.want > 0 && g.end.Sub(now) != c.want {
				t.Errorf("%+v ends %v after its beginning, want %v", c.whole, g.end.Sub(now), c.want)
			}
			_ = g.close()
		})
	}
}

// Goal: an attempt that was not won says whether the servers refused or could not be asked. Method: what
// is known of the five members in the end.
func TestTheVerdictOfAVote(t *testing.T) {
	t.Parallel()
	network := fmt.Errorf("%w: %w", driver.ErrNotSent, driver.ErrNoConnection)
	unknown := fmt.Errorf("%w: no reply", lockerr.ErrUnknownOutcome)
	var (
		refused = entry{state: missing, why: lockerr.ErrNotAcquired}
		dead    = entry{state: missing, why: network}
		lost    = entry{state: missing, why: unknown}
		told    = entry{state: missing, why: unknown, late: true}
		halted  = entry{state: missing, why: fmt.Errorf("%w: %w", driver.ErrNotSent, context.Canceled), late: true}
		both    = entry{state: missing, why: fmt.Errorf("%w: %w", unknown, lockerr.ErrNotAcquired), late: true}
		silent  = entry{state: asked}
		young   = entry{state: held, quarantine: 7 * time.Second}
	)
	for name, c := range map[string]struct {
		entries []entry
		is, not error
		says    string
	}{
		"all refused":                         {[]entry{refused, refused, refused, refused, refused}, lockerr.ErrNotAcquired, lockerr.ErrUnknownOutcome, "5 of 5 refused"},
		"a minority is dead":                  {[]entry{dead, dead, refused, refused, refused}, lockerr.ErrNotAcquired, driver.ErrNoConnection, "3 of 5 refused"},
		"a majority is dead":                  {[]entry{dead, dead, dead, refused, refused}, driver.ErrNoConnection, lockerr.ErrNotAcquired, "a majority of 5 servers could not be asked"},
		"a majority may hold it":              {[]entry{lost, lost, lost, refused, refused}, lockerr.ErrUnknownOutcome, lockerr.ErrNotAcquired, "could not be asked"},
		"a minority was told to stop":         {[]entry{told, told, refused, refused, refused}, lockerr.ErrNotAcquired, lockerr.ErrUnknownOutcome, "3 of 5 refused"},
		"a majority was told to stop":         {[]entry{told, told, told, refused, refused}, lockerr.ErrUnknownOutcome, lockerr.ErrNotAcquired, "could not be asked"},
		"a refusal was the caller's cause":    {[]entry{both, both, both, refused, refused}, lockerr.ErrUnknownOutcome, driver.ErrNoConnection, "could not be asked"},
		"a majority has not answered":         {[]entry{silent, silent, silent, refused, refused}, lockerr.ErrUnknownOutcome, lockerr.ErrNotAcquired, "no answer yet"},
		"dead and silent ones do not add up":  {[]entry{dead, dead, silent, silent, refused}, lockerr.ErrNotAcquired, lockerr.ErrUnknownOutcome, "1 of 5 refused"},
		"a majority was restarted":            {[]entry{young, young, young, refused, dead}, lockerr.ErrNotAcquired, driver.ErrNoConnection, "a was restarted and counts in 7s"},
		"stopped with a known outcome counts": {[]entry{halted, halted, halted, refused, refused}, driver.ErrNotSent, context.Canceled, "could not be asked"},
		"nobody refused":                      {[]entry{dead, {state: missing}, {state: missing}, {state: missing}, {state: missing}}, lockerr.ErrNotAcquired, driver.ErrNoConnection, ""},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, 5, func(s *stage) {
				g := s.quorum(lock.Options{Lease: lease}).group(s.Context(), s.limited())
				g.entries = c.entries
				began := time.Now()
				err := g.verdict()
				if !errors.Is(err, c.is) || errors.Is(err, c.not) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), `quorum "job"`) {
					t.Errorf("got %v", err)
				}
				if waited := time.Since(began); waited > 0 && !strings.Contains(name, "silent") && !strings.Contains(name, "answered") {
					t.Errorf("it took %v", waited)
				}
			})
		})
	}
}

// A group that has not formed ends with the caller's context; one that has formed does not.
func TestTheCallersContextEndsAnAttempt(t *testing.T) {
	t.Parallel()
	for _, formed := range []bool{false, true} {
		story(t, 1, func(s *stage) {
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("the caller went home")
			var g *group
			if formed {
				h, err := LockMajority(ctx, s.set(), same(lock.Options{Lease: lease}, 1))
				if err != nil {
					s.Fatal(err)
				}
				defer h.Unlock(s.limited())
				cancel(cause)
				time.Sleep(time.Second)
				if h.Err() != nil {
					t.Errorf("the hold has ended: %v", h.Err())
				}
				return
			}
			g = s.quorum(lock.Options{Lease: lease}).group(ctx, ctx)
			cancel(cause)
			if g.await(s.limited(), held) || g.hold.Ended() != cause || context.Cause(g.under) != cause {
				t.Errorf("it ended with %v, its context with %v", g.hold.Ended(), context.Cause(g.under))
			}
		})
	}
}
