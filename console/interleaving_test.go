package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/signal"
)

var quiet = redlatch.Config{Logger: slog.New(slog.DiscardHandler)}

// behindProxy is a client whose requests to Redis can be disturbed.
func behindProxy(t *testing.T) (*redistest.Server, *redistest.Proxy, *redlatch.Client) {
	t.Helper()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	client := must1(redlatch.Open(t.Context(), proxy.URL(), quiet))
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return server, proxy, client
}

// Goal: whoever comes late learns that locks are not shown.
func TestLongALateViewerLearnsHowManyLocksAreHidden(t *testing.T) {
	t.Parallel()
	locks := make([]inspect.Lock, maxRows+3)
	for i := range locks {
		locks[i] = held(fmt.Sprintf("l%06d", i), "owner:1", time.Hour)
	}
	s := serve(t, newSource(locks...), Options{Every: time.Hour})
	first := s.watch()
	for first.until("change").Hidden == 0 {
	}
	if hello := s.watch().until("hello"); hello.Hidden != 3 {
		t.Errorf("it is told of %d hidden locks", hello.Hidden)
	}
}

// Goal: an unlock that ends after the last viewer has left does not end the gap of the history.
func TestAnEventOfTheConsoleEndsNoGap(t *testing.T) {
	t.Parallel()
	f := newFeed(newSource(), Options{Every: time.Second})
	now := time.Now()
	f.history.add(nil, now)
	f.history.pause(now)
	f.note(inspect.Event{At: now.Add(time.Second), Lock: "a", Kind: inspect.EventForced, Owner: "owner:1"})
	if _, gaps := f.history.of("", 0, now); len(gaps) != 1 || gaps[0].To != 0 {
		t.Errorf("nobody reads, and the gaps are %v", gaps)
	}
}

// Goal: a console that has read nothing yet does not say that a lock has another owner.
func TestAConsoleThatHasReadNothingSaysSo(t *testing.T) {
	t.Parallel()
	client := open(t)
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", hold.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
	if code != 503 {
		t.Errorf("got %d %s", code, text)
	}
}

// Goal: whoever repeats a request whose answer was lost, is told that the lock was taken away.
func TestARepeatedUnlockIsAnsweredAsTheFirst(t *testing.T) {
	t.Parallel()
	client := open(t)
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	src := newSource(held("a", hold.Owner(), time.Minute))
	s := serve(t, src, Options{Unlock: client, Token: testToken})
	w := s.watch()
	w.begin(1)
	for range 2 {
		if code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken); code != 200 {
			t.Errorf("got %d %s", code, text)
		}
	}
	src.set(reading(), nil)
	for len(w.until("change").Gone) == 0 {
	}
	if code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken); code != 200 {
		t.Errorf("when the lock is gone: %d %s", code, text)
	}
	if events, _ := s.console.feed.history.of(idOf("a"), 0, time.Now()); len(events) != 1 {
		t.Errorf("its story is %+v", events)
	}
}

// Goal: a viewer that vanishes does not interrupt what Redis has begun.
func TestAViewerThatVanishesStopsNoUnlock(t *testing.T) {
	t.Parallel()
	server, proxy, client := behindProxy(t)
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", hold.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	sent := make(chan struct{}, 1)
	proxy.DropRequests(1, func(request []byte) bool {
		if bytes.Contains(request, []byte(hold.Owner())) {
			signal.Send(sent)
		}
		return false
	})
	server.Freeze()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		answered <- s.askWithin(ctx, "POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
	}()
	select {
	case <-sent:
	case err := <-answered:
		t.Fatal("Redis was not asked:", err)
	}
	cancel()
	if <-answered == nil {
		t.Fatal("a frozen server has answered")
	}
	server.Thaw()
	redistest.Eventually(t, 5*time.Second, func() bool {
		s.console.feed.mu.Lock()
		defer s.console.feed.mu.Unlock()
		events, _ := s.console.feed.history.of(idOf("a"), 0, time.Now())
		return len(events) == 1
	}, "an event that says what was done")
}

// Goal: where readings come in quick succession, waits are read as seldom as Every says.
func TestWaitsAreReadAtMostOnceInAnInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		src := newSource(held("a", "owner:1", time.Minute))
		f := newFeed(src, Options{Every: time.Second, Waits: func(context.Context) ([]Wait, error) {
			asked.Add(1)
			return []Wait{{Lock: "a", Owner: "owner:2"}}, nil
		}})
		defer f.close()
		must2(t, f)
		for range 50 {
			time.Sleep(20 * time.Millisecond)
			src.set(reading(held("a", "owner:1", time.Minute)), nil)
		}
		synctest.Wait()
		if n := asked.Load(); n > 3 {
			t.Errorf("%d times in a second", n)
		}
		f.mu.Lock()
		if len(f.table.entries[idOf("a")].row.Told) != 1 {
			t.Error("the wait is lost between two readings")
		}
		f.mu.Unlock()
	})
}

// Goal: a forced hold ends once, whatever the next reading says of it.
func TestAForcedHoldEndsOnce(t *testing.T) {
	t.Parallel()
	h, now := newHistory(), time.Now()
	event := func(kind inspect.EventKind) inspect.Event {
		return inspect.Event{At: now, Lock: "a", Kind: kind, Owner: "owner:1"}
	}
	h.add([]inspect.Event{event(inspect.EventGranted), event(inspect.EventForced)}, now)
	h.add([]inspect.Event{event(inspect.EventReleased)}, now)
	events, _ := h.of(idOf("a"), 0, now)
	var kinds []inspect.EventKind
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if !slices.Equal(kinds, []inspect.EventKind{inspect.EventGranted, inspect.EventForced}) {
		t.Errorf("its story is %v", kinds)
	}
}

// Goal: a waiter whose deadline moves is never shown as overdue.
func TestAWaiterThatIsKeptAliveIsNotOverdue(t *testing.T) {
	t.Parallel()
	table, now := newTable(), time.Now()
	for second := range 30 {
		at := now.Add(time.Duration(second) * time.Second)
		lock := held("a", "owner:1", time.Hour)
		lock.Seen = at
		lock.Queue = []inspect.Waiter{{Owner: "other:1", Deadline: at.Add(5 * time.Second)}}
		table.update(inspect.Snapshot{At: at, Walked: true, Locks: []inspect.Lock{lock}}, nil, nil, "")
		if shown := table.entries[idOf("a")].row.Queue[0].Deadline; shown < at.UnixMilli() {
			t.Fatalf("after %d s the shown deadline is %d ms in the past", second, at.UnixMilli()-shown)
		}
	}
}

// Goal: what happened while Redis could not be read is unknown, and the timeline says so.
func TestTimeWithoutRedisIsAGap(t *testing.T) {
	t.Parallel()
	src := newSource(held("a", "owner:1", time.Minute))
	s := serve(t, src, Options{Every: minEvery})
	w := s.watch()
	w.begin(1)
	src.set(inspect.Snapshot{}, errors.New("connection refused"))
	w.until("trouble")
	src.set(reading(held("a", "owner:1", time.Minute)), nil)
	w.until("well")
	s.console.feed.mu.Lock()
	defer s.console.feed.mu.Unlock()
	if _, gaps := s.console.feed.history.of(idOf("a"), 0, time.Now()); len(gaps) != 1 || gaps[0].To == 0 {
		t.Errorf("the gaps are %v", gaps)
	}
}

// Goal: Redis that answers nothing is noticed soon, however many locks are known.
func TestLongASilentRedisIsNoticedAmongManyLocks(t *testing.T) {
	t.Parallel()
	server, proxy, client := behindProxy(t)
	server.CLI(t, "EVAL", `for i = 1, 1000 do redis.call('HSET', 'lock:' .. i, '6ba7b810-9dad-11d1-80b4-00c04fd430c8:' .. i, 1); redis.call('PEXPIRE', 'lock:' .. i, 600000) end`, "0")
	inspector := must1(inspect.New(client.Driver(), inspect.Config{Rate: 100_000}))
	s := serve(t, inspector, Options{Every: minEvery, Waits: ReportedWaits(client.Driver())})
	w := s.watch()
	w.begin(1000)
	proxy.Blackhole(true)
	began := time.Now()
	w.until("trouble")
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it took %v", took)
	}
	proxy.Blackhole(false)
	began = time.Now()
	w.until("well")
	if took := time.Since(began); took > 12*time.Second {
		t.Errorf("it took %v until all was well", took)
	}
}

// Goal: an unlock whose reply from Redis is lost is answered with what happened, or as unknown; never
// as if nothing had happened.
func TestALostReplyOfRedisIsNoRefusal(t *testing.T) {
	t.Parallel()
	_, proxy, client := behindProxy(t)
	must1(client.Mutex("b").ForceUnlockIf(t.Context(), "owner:1")) // so that the server knows the script
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", hold.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	proxy.DropReplies(1, redistest.Containing(hold.Owner()))
	code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
	if code != 502 || !strings.Contains(text, "unknown") {
		t.Errorf("got %d %s", code, text)
	}
}

// Goal: a console that is closed has done what it has begun.
func TestCloseWaitsForAnUnlock(t *testing.T) {
	t.Parallel()
	server, proxy, client := behindProxy(t)
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", hold.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	proxy.Delay(300 * time.Millisecond)
	answered := make(chan error, 1)
	go func() {
		answered <- s.askWithin(t.Context(), "POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
	}()
	redistest.Eventually(t, 5*time.Second, func() bool {
		if s.console.unlocking.TryLock() {
			s.console.unlocking.Unlock()
			return false
		}
		return true
	}, "an unlock that runs")
	s.console.Close()
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("the lock is still there: %v", keys)
	}
	if events, _ := s.console.feed.history.of(idOf("a"), 0, time.Now()); len(events) != 1 {
		t.Errorf("its story is %+v", events)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// Goal: waits that cannot be read stay a trouble while locks are read more often.
func TestTroubleWithWaitsDoesNotComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := newSource(held("a", "owner:1", time.Minute))
		f := newFeed(src, Options{Every: time.Second, Waits: func(context.Context) ([]Wait, error) { return nil, errors.New("no") }})
		defer f.close()
		v := must2(t, f)
		told := 0
		for range 200 {
			time.Sleep(20 * time.Millisecond)
			src.set(reading(held("a", "owner:1", time.Minute)), nil)
			synctest.Wait()
			for len(v.queue) > 0 {
				if m := string(<-v.queue); !strings.HasPrefix(m, "event: change") {
					told++
				}
			}
		}
		if told != 1 {
			t.Errorf("%d messages about one trouble", told)
		}
	})
}

// Goal: thousands of viewers that vanish leave nothing behind.
func TestViewersThatVanishLeaveNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(held("a", "owner:1", time.Minute)), Options{})
	for range 40 {
		for range 50 {
			w := s.watch()
			must1(w.lines.ReadString('\n'))
			w.leave()
		}
	}
	redistest.Eventually(t, 10*time.Second, func() bool {
		s.console.feed.mu.Lock()
		defer s.console.feed.mu.Unlock()
		return len(s.console.feed.viewers) == 0 && s.console.feed.reader.expiry != nil
	}, "no viewer, and a reader that will end")
}
