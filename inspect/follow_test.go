package inspect_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
)

// follow runs Follow or Watch until a condition holds, and returns all events.
func follow(t *testing.T, snapshots func(yield func(inspect.Snapshot, error) bool), done func(s inspect.Snapshot, events []inspect.Event) bool) (events []inspect.Event) {
	t.Helper()
	limit := time.Now().Add(time.Minute)
	for s, err := range snapshots {
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, s.Events...); done(s, events) {
			return events
		}
		if time.Now().After(limit) {
			t.Fatalf("not within a minute; events: %+v", events)
		}
	}
	t.Fatal("it ended")
	return nil
}

// Goal: Follow finds locks, tells what happens to them, and forgets those that are free. Method: a lock
// is there from the start, another is taken, and both are released.
func TestFollow(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		first, err := c.Mutex(p + "first").Lock(t.Context())
		must(t, first, err)
		var second *redlatch.Hold
		step := 0
		events := follow(t, inspector(t, c.Driver(), fast).Follow(t.Context(), p+"*", 20*time.Millisecond), func(s inspect.Snapshot, _ []inspect.Event) bool {
			switch {
			case step == 0 && s.Walked && len(s.Locks) == 1:
				second, err = c.Mutex(p + "second").Lock(t.Context())
				must(t, second, err)
				step++
			case step == 1 && len(s.Locks) == 2:
				_, _ = first.Unlock(t.Context()), second.Unlock(t.Context())
				step++
			case step == 2 && len(s.Locks) == 0:
				return true
			}
			return false
		})
		var got string
		for _, e := range events {
			got += string(e.Kind) + " " + e.Lock[len(p):] + " " + strconv.FormatBool(e.Name != "") + ", "
		}
		named := strconv.FormatBool(!embedded(c))
		want := "granted second " + named + ", released first " + named + ", released second " + named + ", "
		if got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

// embedded says that the server is one in this process, which does not list its connections.
func embedded(c *redlatch.Client) bool {
	_, is := c.Driver().(interface{ Embedded() })
	return is
}

// Goal: Watch tells what happens to a lock whose name is a pattern as well, and has the lock while it is free.
func TestWatch(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		for _, name := range []string{p + "*[", p + "plain"} {
			hold, err := c.Mutex(name).Lock(t.Context())
			must(t, hold, err)
			begun := false
			events := follow(t, inspector(t, c.Driver(), fast).Watch(t.Context(), name, 20*time.Millisecond), func(s inspect.Snapshot, events []inspect.Event) bool {
				if l := s.Locks[0]; l.Name != name || l.Waiting != 0 {
					t.Errorf("%+v", l)
				}
				if !begun {
					begun = true
					must(t, hold, hold.Unlock(t.Context()))
				}
				return len(events) > 0
			})
			if len(events) != 1 || events[0].Kind != inspect.EventReleased || events[0].Owner != hold.Owner() {
				t.Errorf("%+v", events)
			}
		}
	})
}

// Goal: what was held before Follow knew of it was not granted just now.
func TestFollowDoesNotInventAGrant(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, c *redlatch.Client, p string) {
		for n := range 50 {
			do(t, c.Driver(), "HSET", p+strconv.Itoa(n), java(n, 1), "1")
			do(t, c.Driver(), "PEXPIRE", p+strconv.Itoa(n), "3600000")
		}
		events := follow(t, inspector(t, c.Driver(), inspect.Config{Rate: 500, Step: 10}).Follow(t.Context(), p+"*", 20*time.Millisecond), func(s inspect.Snapshot, _ []inspect.Event) bool {
			return s.Walked && len(s.Locks) == 50
		})
		if len(events) != 0 {
			t.Errorf("%+v", events)
		}
	})
}

// Goal: Follow goes on after an outage, and ends with its context.
func TestFollowOutlivesErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &slowServer{}
	errors, snapshots := 0, 0
	s.fail(true)
	for snapshot, err := range inspector(t, s, fast).Follow(ctx, "", 20*time.Millisecond) {
		switch {
		case err != nil:
			if errors++; errors == 3 {
				s.fail(false)
			}
		case snapshot.Walked:
			if snapshots++; snapshots == 2 {
				cancel()
			}
		}
	}
	if errors < 3 || snapshots != 2 {
		t.Errorf("%d errors, %d snapshots", errors, snapshots)
	}
}
