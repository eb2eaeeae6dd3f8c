package kinds_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/scene"
)

func TestATicketThatIsExtendedKeepsItsNote(t *testing.T) {
	scene.EachThat(t, func(k scene.Kind) bool { return k.Sort == scene.One }, redlatch.Config{}, func(s *scene.Scene) {
		h := check.Must(s.Home.Lock.Lock(s.Context(), redlatch.WithNote("deploy"), redlatch.WithLease(10*time.Second)))
		time.Sleep(time.Second)
		ticket := check.Must(h.Ticket())
		check.Is(s.T, "ExtendTicket", s.Home.Clients[0].ExtendTicket(s.Context(), ticket, time.Hour), nil)
		time.Sleep(20 * time.Second)
		if !strings.Contains(s.Redis(), "note=deploy") {
			s.Error("the lock is held, and has no note:", s.Redis())
		}
		s.Home.Free(check.Must(attach(s, s.Home, ticket)).Hold)
	})
}
