package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/redlatchtest"
)

const rightToken = "Authorization: Bearer " + testToken

func unlockBody(lock, owner string) string {
	return fmt.Sprintf(`{"lock":%q,"owner":%q}`, idOf(lock), idOf(owner))
}

// Goal: with the token a lock is taken from the owner that was shown, and without it not.
func TestALockIsTakenFromTheOwnerThatWasShown(t *testing.T) {
	t.Parallel()
	client := open(t)
	lock := client.Mutex("a")
	hold := must1(lock.TryLock(t.Context()))
	seen := held("a", hold.Owner(), time.Minute)
	seen.Holders[0].Noted = inspect.Noted{Note: "nightly\n", Recall: &redlatch.RecalledError{Reason: "now"}, Told: true}
	src := newSource(seen)
	s := serve(t, src, Options{Unlock: client, Token: testToken})
	if h := s.watch().begin(1)["a"].Holders[0]; h.Note != "nightly; " || h.Asked != "somebody asks for it: now (the holder knows)" {
		t.Errorf("the row says %q, %q", h.Note, h.Asked)
	}
	for _, header := range []string{"X: y", "Authorization: Bearer wrong", "Authorization: Bearer "} {
		if code, _, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), header); code != 401 {
			t.Errorf("with %q: %d", header, code)
		}
	}
	for body, want := range map[string]int{"": 400, "{}": 409, strings.Repeat(" ", maxBody) + "{}": 400, unlockBody("b", hold.Owner()): 409, unlockBody("a", "other:1"): 409} {
		if code, _, _ := s.ask("POST", "/unlock", body, rightToken); code != want {
			t.Errorf("%s: %d, want %d", body, code, want)
		}
	}
	ask := strings.TrimSuffix(unlockBody("a", hold.Owner()), "}") + `,"ask":true,"reason":%q}`
	for reason, want := range map[string]int{"a\nb": 502, "a deployment": 200} {
		if code, text, _ := s.ask("POST", "/unlock", fmt.Sprintf(ask, reason), rightToken); code != want {
			t.Errorf("asked with %q: %d %s", reason, code, text)
		}
	}
	if now := must1(lock.Status(t.Context())); !now.Locked || now.Holders[0].Recall == nil || now.Holders[0].Recall.Reason != "a deployment" {
		t.Fatalf("it is %+v", now)
	}
	if code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken); code != 200 {
		t.Errorf("with the token: %d %s", code, text)
	}
	if must1(lock.Status(t.Context())).Locked {
		t.Error("it is still held")
	}
	events, _ := s.console.feed.history.of(idOf("a"), 0, time.Now())
	if len(events) != 1 || events[0].Kind != inspect.EventForced || events[0].Owner.Key != idOf(hold.Owner()) {
		t.Errorf("its story is %+v", events)
	}
}

// Goal: who waits for a fair lock is told when the lock is taken away, and does not look only at its next keep-alive.
func TestTheNextInTheQueueIsToldOfALockThatIsTakenAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := redlatchtest.NewServer(t)
		holder, waiter := server.Client(redlatch.Config{}), server.Client(redlatch.Config{})
		c := Console{options: Options{Unlock: server.Client(redlatch.Config{})}}
		hold := must1(holder.FairMutex("a").Lock(t.Context()))
		entered := make(chan time.Time)
		go func() {
			_ = must1(waiter.FairMutex("a").Lock(t.Context()))
			entered <- time.Now()
		}()
		time.Sleep(time.Minute + 300*time.Millisecond) // between two keep-alives
		began := time.Now()
		_ = must1(c.forceable(inspect.Lock{Name: "a", Kind: inspect.KindFair}).ForceUnlockIf(t.Context(), hold.Owner()))
		if took := (<-entered).Sub(began); took > 0 {
			t.Errorf("the next one has it after %v", took)
		}
	})
}

// Goal: a lock that has another owner than the page shows is left alone, also when the console does
// not know that yet.
func TestALockWithANewOwnerIsLeftAlone(t *testing.T) {
	t.Parallel()
	client := open(t)
	shown := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", shown.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	if err := shown.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	must1(client.Mutex("a").TryLock(t.Context()))
	if code, text, _ := s.ask("POST", "/unlock", unlockBody("a", shown.Owner()), rightToken); code != 409 {
		t.Errorf("got %d %s", code, text)
	}
	if !must1(client.Mutex("a").Status(t.Context())).Locked {
		t.Error("the new owner has lost it")
	}
}

// Goal: of several readers only the one that was asked about loses the lock.
func TestOneOfSeveralReadersLosesTheLock(t *testing.T) {
	t.Parallel()
	client := open(t)
	lock := client.RWMutex("a")
	one, other := must1(lock.TryRLock(t.Context())), must1(lock.TryRLock(t.Context()))
	seen := held("a", one.Owner(), time.Minute)
	seen.Kind, seen.Mode = inspect.KindReadWrite, redlatch.ModeRead
	seen.Holders = append(seen.Holders, inspect.Holder{Owner: other.Owner(), Count: 1, TTL: time.Minute})
	s := serve(t, newSource(seen), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	if code, text, _ := s.ask("POST", "/unlock", unlockBody("a", other.Owner()), rightToken); code != 200 {
		t.Fatalf("got %d %s", code, text)
	}
	status := must1(lock.Status(t.Context()))
	if len(status.Holders) != 1 || status.Holders[0].Owner != one.Owner() {
		t.Errorf("it is %+v", status)
	}
}

// Goal: a console that was not told to take locks away has no way to.
func TestAConsoleTakesNothingAwayUnlessToldTo(t *testing.T) {
	t.Parallel()
	s := serve(t, newSource(held("a", "owner:1", time.Minute)), Options{Token: testToken})
	s.watch().begin(1)
	if code, _, _ := s.ask("POST", "/unlock", unlockBody("a", "owner:1"), rightToken); code != 405 {
		t.Errorf("got %d", code)
	}
}

// Goal: the page says whether a lock that could not be taken away was left alone, or may be free.
func TestWhatBecomesOfALockThatCannotBeTakenAway(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Start(t).Addr())
	client := must1(redlatch.Open(t.Context(), proxy.URL(), redlatch.Config{CommandTimeout: 3 * time.Second, Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	hold := must1(client.Mutex("a").TryLock(t.Context()))
	s := serve(t, newSource(held("a", hold.Owner(), time.Minute)), Options{Unlock: client, Token: testToken})
	s.watch().begin(1)
	proxy.DropReplies(1000, redistest.Containing("EVAL"))
	code, text, _ := s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
	if code != http.StatusBadGateway || !strings.Contains(text, "is unknown") {
		t.Errorf("without an answer: %d %s", code, text)
	}
	proxy.Refuse(t, true)
	proxy.Cut()
	redistest.Eventually(t, 30*time.Second, func() bool { // once the client knows that it has no connection
		code, text, _ = s.ask("POST", "/unlock", unlockBody("a", hold.Owner()), rightToken)
		return code == http.StatusBadGateway && strings.Contains(text, "left alone")
	}, "without a connection the lock is left alone")
}

// must1 pairs a result with its error, for must.
func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
