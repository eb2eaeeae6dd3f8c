package script_test

import (
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a request that arrives late, on a connection that its client has given up and after
// the requests that came after it, lets nobody else in. Method: a stay of one owner, its
// requests in order; then one of them once more; then what others get.

func TestALateRequestOfAStayLetsNobodyIn(t *testing.T) {
	t.Parallel()
	for what, stay := range map[string][]rwCall{
		"write, read inside, downgrade": {
			rwAcquire("A", 1, 0), rwAcquire("A", 1, 1), rwRelease("A", 1, 1, 0), rwAcquire("A", 1, 1), rwRelease("A", 1, 0, 1),
		},
		"write twice, read inside, downgrade, read again": {
			rwAcquire("A", 1, 0), rwAcquire("A", 2, 0), rwAcquire("A", 2, 1), rwRelease("A", 1, 1, 1), rwRenew("A", 1, 1),
			rwRelease("A", 1, 0, 1), rwAcquire("A", 0, 2), rwRenew("A", 0, 2),
		},
		"read again and again": {
			rwAcquire("A", 0, 1), rwAcquire("A", 0, 2), rwRelease("A", 2, 0, 1), rwAcquire("A", 0, 2), rwRenew("A", 0, 2), rwRelease("A", 2, 0, 1),
		},
	} {
		onEachServer(t, func(t *testing.T, s *server) {
			for at := range stay {
				key := redistest.Name(t)
				for _, call := range stay {
					s.run(t, call(key))
				}
				s.run(t, rwAcquire("B", 0, 1)(key)) // A only reads by now, so others may
				s.run(t, stay[at](key))
				for _, c := range []struct {
					call rwCall
					want string
				}{
					{rwAcquire("C:1", 1, 0), ""},
					{rwRelease("B", 1, 0, 0), "-3"},
					{rwAcquire("C:1", 1, 0), "{lease, A}"},
					{rwRenew("A", 0, 1), "1"},
				} {
					got := rwReply(c.call(key), s.run(t, c.call(key)))
					if got != c.want && (c.want != "" || got == "1") {
						t.Errorf("%s: after request %d came once more, %s answers %s, want %s: %s", what, at, c.call(key).Script(), got, c.want, s.rw(t, key))
					}
				}
				if got := rwReply(rwRelease("A", 2, 0, 0)(key), s.run(t, rwRelease("A", 2, 0, 0)(key))); got != "n >= 0" {
					t.Errorf("%s: the last release answers %s", what, got)
				}
			}
		})
	}
}

// Nothing of a stay that is over touches what is there.
func TestALateRequestOfAStayThatIsOverTouchesNobody(t *testing.T) {
	t.Parallel()
	late := []rwCall{
		rwAcquire("A", 2, 0), rwAcquire("A", 1, 1), rwAcquire("A", 0, 2), rwRelease("A", 2, 1, 1), rwRelease("A", 2, 1, 0),
		rwRelease("A", 2, 0, 2), rwRelease("A", 2, 0, 1), rwRelease("A", 2, 0, 0), rwRenew("A", 1, 1), rwRenew("A", 0, 2), rwForce("A"),
	}
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for _, there := range []string{"", "write B:write=1 old", "write B:write=2 B=1 old / B1old", "read B=2 old / B1old B2old"} {
			for _, call := range late {
				s.putRW(t, key, there)
				s.run(t, call(key))
				if got := s.rw(t, key); got != there {
					t.Errorf("%s made %q of %q", call(key).Script(), got, there)
				}
			}
			s.putRW(t, key, there)
			s.run(t, rwAcquire("A", 1, 0)(key)) // may only be refused
			if got := s.rw(t, key); there != "" && got != there {
				t.Errorf("an attempt to write made %q of %q", got, there)
			}
		}
	})
}

// A renewal left before its owner took a read hold inside its write hold, and arrives after the
// release of the write side. It names no timeout key, so it confirms nothing of the read hold.
func TestARenewalConfirmsNoReadHoldOfWhichItDoesNotKnow(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		for _, c := range []struct {
			there     string
			reads     int
			confirmed bool
		}{
			{"write A:write=1 old", 0, true},
			{"write A:write=1 A=1 old / A1old", 0, true},
			{"read A=1 old / A1old", 0, false},
			{"read A=1 old / A1old", 1, true},
		} {
			s.putRW(t, key, c.there)
			renewal := script.NewRW(key, protocol.Plain).Renewal(me, script.Counts{Writes: 1, Reads: c.reads}, false, lease)
			got, err := script.ReadRenewed(s.run(t, script.Renew([]script.Renewal{renewal})), 1)
			if err != nil || !got[0].Held || (got[0].Err == nil) != c.confirmed {
				t.Errorf("a renewal of %d read holds of %q is answered %+v, %v", c.reads, c.there, got, err)
			}
		}
		s.clearRW(t, key)
	})
}
