package kinds_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestNobodyHasBeenToldOfARecallOfATicket(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return slices.Contains([]string{"mutex", "fair", "write", "read"}, k.Name) }, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context()))
		owner := h.Owner()
		ticket := check.Must(h.Ticket())
		if !ask(s, s.Stranger(), h, "drain") {
			s.Fatal("not asked")
		}
		check.Is(s.T, "ExtendTicket", s.Home.Clients[0].ExtendTicket(s.Context(), ticket, time.Hour), nil)
		if strings.Contains(s.Redis(), "told=1") {
			s.Errorf("nobody has %s, and Redis says that it was told: %s", owner, s.Redis())
		}
		s.Home.Free(check.Must(attach(s, s.Home, ticket)).Hold)
		time.Sleep(time.Hour)
	})
}
