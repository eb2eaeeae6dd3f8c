package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestTheWatchdogRenewsTheLockForAsLongAsTheWorkTakes(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--work", "1400ms", "--watchdog", "600ms")
		name := redistest.Name(t)
		seen, last := a.watch(name, a.begin("GET", pathLock+name))

		last.is(t, "the work", 200, "released")
		if last.Lock != name || last.Worked < 1400 {
			t.Errorf("it answered %+v", last)
		}
		if n := rises(seen); n < 3 {
			t.Errorf("the TTL rose %d times, want at least 3 of about 6", n)
		}
		for _, s := range seen {
			if s.owner() != "" && s.owner() != last.Owner || s.TTL > 600 {
				t.Errorf("meanwhile Redis had %+v", s)
			}
		}
		if s := a.status(name); s.Locked || s.TTL != 0 || s.Holders == nil {
			t.Errorf("afterwards Redis had %+v", s)
		}
	})
}

// Goal: after an expired lease no request reports success. Method: two
// requests work for longer than their leases. No request takes the lock after the second
// one, so its late release would harm none, and is still refused.
func TestALeaseEndsInTheMiddleOfTheWorkAndTheLateReleaseIsAnError(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--work", "1800ms", "--wait", "10s", "--lease", "300ms")
		name := redistest.Name(t)
		first := a.begin("GET", pathTryLock+name)
		owner1 := a.awaitOwner(name)
		second := a.begin("GET", pathTryLock+name)
		owner2 := a.awaitOwner(name, owner1)
		select {
		case got := <-first:
			t.Errorf("the first had ended before the second had the lock: %+v", got)
		default:
		}

		seen, one := a.watch(name, first)
		one.is(t, "the first", 409, "lost")
		if one.Owner != owner1 || one.Worked < 1800 {
			t.Errorf("the first answered %+v, want that of %s", one, owner1)
		}
		more, two := a.watch(name, second)
		two.is(t, "the second", 409, "lost")
		if two.Owner != owner2 || two.Waited > 1800 {
			t.Errorf("the second answered %+v, want that of %s before the first had ended", two, owner2)
		}
		if n := rises(append(seen, more...)); n > 0 {
			t.Errorf("the TTL of a fixed lease rose %d times", n)
		}
		if s := a.status(name); s.Locked {
			t.Errorf("afterwards Redis had %+v", s)
		}
	})
}

func TestTryLockGivesUpAfterItsWait(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--work", "1m", "--wait", "200ms")
		name := redistest.Name(t)
		_ = a.begin("GET", pathLock+name)
		owner := a.awaitOwner(name)
		began := time.Now()
		a.ask("GET", pathTryLock+name).is(t, "it", 423, "not_acquired")
		if took := time.Since(began); took < 200*time.Millisecond {
			t.Errorf("it gave up after %v", took)
		}
		if got := a.status(name).owner(); got != owner {
			t.Errorf("then %q had the lock", got)
		}
	})
}

func TestWorkThatHeedsItsHoldEndsWhenTheLockIsTakenAway(t *testing.T) {
	eachServer(t, func(t *testing.T, redis string) {
		a := start(t, "--redis", redis, "--work", "15s", "--watchdog", "600ms")
		name := redistest.Name(t)
		later := a.begin("GET", pathLock+name)
		a.awaitOwner(name)
		if !force(t, redis, name) {
			t.Error("it was not locked")
		}
		got := <-later
		got.is(t, "the work", 409, "lost")
		if got.Worked > 10_000 {
			t.Errorf("it went on for %d ms", got.Worked)
		}
	})
}

// force unlocks as an operator does.
func force(t *testing.T, redis, name string) bool {
	t.Helper()
	client, err := redlatch.Open(t.Context(), redis, redlatch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	forced, err := client.Mutex(name).ForceUnlock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return forced
}

// Goal: a client that disconnects releases its lock at once, and no longer waits.
func TestARequestEndsWithItsClient(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	a := start(t, "--redis", server.URL(), "--work", "1m", "--wait", "1m")
	name := redistest.Name(t)

	worker, leaveWork := context.WithCancel(t.Context())
	defer leaveWork()
	waiter, leaveLine := context.WithCancel(t.Context())
	defer leaveLine()
	ended := make(chan error, 2)
	go func() { _, err := a.send(worker, "GET", pathLock+name); ended <- err }()
	owner := a.awaitOwner(name)
	go func() { _, err := a.send(waiter, "GET", pathTryLock+name); ended <- err }()
	awaitWaiter(t, server, name)

	leaveLine()
	a.awaitLog(name, 1)
	if got := a.status(name).owner(); got != owner {
		t.Errorf("the waiter left, and %q has the lock", got)
	}
	leaveWork()
	a.awaitLog(name, 2)
	if s := a.status(name); s.Locked {
		t.Errorf("the worker left, and Redis has %+v", s)
	}
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a client that had left got an answer")
		}
	}
}

// awaitLog waits until as many requests are logged whose clients left.
func (a *app) awaitLog(name string, n int) {
	a.Helper()
	redistest.Eventually(a, 10*time.Second, func() bool {
		return strings.Count(a.log.String(), name+" status=499") == n
	}, "the log tells of a client that left")
}

// awaitWaiter waits until a request waits for the lock.
func awaitWaiter(t *testing.T, server *redistest.Server, name string) {
	t.Helper()
	redistest.Eventually(t, 10*time.Second, func() bool {
		reply := server.CLI(t, "PUBSUB", "NUMSUB", "redisson_lock__channel:{"+name+"}")
		return reply.([]any)[1].(int64) > 0
	}, "somebody waits for "+name)
}

// Goal: a Java process would see the lock. Method: ask Redis itself.
func TestRedisHoldsWhatRedissonWouldWrite(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	a := start(t, "--redis", server.URL(), "--work", "1m")
	name := redistest.Name(t)
	_ = a.begin("POST", pathLock+name)
	owner := a.awaitOwner(name)
	fields := server.CLI(t, "HGETALL", name).([]any)
	if len(fields) != 2 || fields[0] != owner || fields[1] != "1" {
		t.Errorf("the hash is %q, want %s: 1", fields, owner)
	}
	if ttl := server.PTTL(t, name); ttl <= 15*time.Second || ttl > 30*time.Second {
		t.Errorf("its TTL is %v, want up to 30 s", ttl)
	}
	if keys := server.Keys(t, "*"+name+"*"); len(keys) != 1 {
		t.Errorf("the keys are %q, want the lock alone", keys)
	}
}
