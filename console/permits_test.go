package console

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// Goal: the page shows who has which permit of a semaphore, and what happens to it. With the token one permit is
// taken from the id that was shown, and no other.
func TestPermitsAreShownAndOneIsTaken(t *testing.T) {
	t.Parallel()
	client := open(t)
	pool := client.PermitSemaphore("pool")
	must1(pool.TrySetPermits(t.Context(), 3))
	one, other := must1(pool.TryAcquire(t.Context())), must1(pool.TryAcquire(t.Context()))
	s := serve(t, must1(inspect.New(client.Driver(), inspect.Config{})), Options{Unlock: client, Token: testToken, Every: minEvery})
	w := s.watch()
	if r := w.begin(1)["pool"]; r.Kind != "permits" || r.Held != 2 || r.Free != 1 || len(r.Holders) != 2 || r.Holders[0].Count != 1 || r.Ends <= time.Now().UnixMilli() {
		t.Fatalf("the row is %+v", r)
	}
	ask := strings.Replace(unlockBody("pool", other.Owner()), "{", `{"ask":true,"reason":"now",`, 1)
	if code, text, _ := s.ask("POST", "/unlock", ask, rightToken); code != 200 {
		t.Errorf("the other permit is asked for: %d %s", code, text)
	}
	for data := w.until("change"); len(data.Set) == 0 || !slices.ContainsFunc(data.Set[0].Holders, func(h holder) bool { return strings.Contains(h.Asked, "now") }); data = w.until("change") {
	}
	for range 2 {
		if code, text, _ := s.ask("POST", "/unlock", unlockBody("pool", one.Owner()), rightToken); code != 200 {
			t.Errorf("the permit is taken: %d %s", code, text)
		}
	}
	for data := w.until("change"); len(data.Set) == 0 || data.Set[0].Held != 1 || data.Set[0].Free != 2; data = w.until("change") {
	}
	if code, _, _ := s.ask("POST", "/unlock", unlockBody("pool", "stranger"), rightToken); code != 409 {
		t.Errorf("an id that has no permit: %d", code)
	}
	if n := must1(pool.Available(t.Context())); n != 2 {
		t.Errorf("available: %d", n)
	}
	if err := other.Unlock(t.Context()); err != nil {
		t.Errorf("the other permit: %v", err)
	}
	for len(w.until("change").Gone) == 0 {
	}
	events, _ := s.console.feed.history.of(idOf("pool"), 0, time.Now())
	events = slices.CompactFunc(events, func(a, b told) bool { return a.Kind == b.Kind }) // and perhaps that the holder knows
	if len(events) != 3 || events[0].Kind != inspect.EventRecalled || events[1].Kind != inspect.EventForced || events[2].Kind != inspect.EventReleased {
		t.Errorf("its story is %+v", events)
	}
}
