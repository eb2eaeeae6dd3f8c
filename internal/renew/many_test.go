package renew_test

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// Many items at once: how many requests, and that none comes late.

// many sets n items with a lease of 30 s, one every so often.
func many(e *renew.Engine, n int, apart time.Duration) []*holder {
	all := make([]*holder, n)
	for i := range all {
		all[i] = newHolder()
		e.Set(&all[i].Item, term(30*second))
		if apart > 0 {
			time.Sleep(apart)
		}
	}
	return all
}

// wantAllInTime fails unless every item is alive, none was renewed later than after half
// of its lease, and there were few enough requests.
func wantAllInTime(t *testing.T, e *renew.Engine, s *server, all []*holder, requests int) {
	t.Helper()
	lost := 0
	for _, h := range all {
		lost += len(h.lost())
	}
	if lost > 0 || e.Len() != len(all) {
		t.Errorf("%d were lost, %d of %d are watched", lost, e.Len(), len(all))
	}
	if got := e.Counts(); got.Late > 0 || got.Failures > 0 {
		t.Errorf("counts are %+v, want nothing late and no failure", got)
	}
	if got := len(s.log()); got > requests {
		t.Errorf("%d requests, want at most %d", got, requests)
	}
	for _, r := range s.log() {
		if len(r.items) > batchSize {
			t.Fatalf("a request for %d items", len(r.items))
		}
	}
}

func TestLongTenThousandItemsOfOneMomentMakeAHundredRequestsEachThird(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = 20 * time.Millisecond
		all := many(e, 10_000, 0)
		time.Sleep(65 * second)
		wantAllInTime(t, e, s, all, 6*110)
	})
}

func TestTenThousandItemsSpreadOverTimeAreRenewedTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = 20 * time.Millisecond
		all := many(e, 10_000, time.Millisecond)
		s.set(func() { s.requests = nil })
		time.Sleep(60 * second)
		// 100 full requests an interval would be the fewest. That items are renewed up to
		// a tenth of it early, and that not every request is full, may double them.
		wantAllInTime(t, e, s, all, 6*200)
	})
}

// Each request waits for the one before it, so what counts is their number times the
// way to the server: 100,000 items and 20 ms are the same.
func TestTwentyThousandItemsAreRenewedInTimeThoughTheServerIsFarAway(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = 100 * time.Millisecond
		all := many(e, 20_000, 0)
		time.Sleep(40 * second)
		wantAllInTime(t, e, s, all, 5*220)
	})
}

// A fixed lease stands in the same heap. It must not part those that are renewed.
func TestFixedLeasesDoNotKeepOthersFromBeingRenewedTogether(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		var all []*holder
		for range 2000 {
			h, fixed := newHolder(), newHolder()
			e.Set(&h.Item, term(30*second))
			time.Sleep(2 * time.Millisecond)
			e.Set(&fixed.Item, renew.Term{Asked: time.Now(), Lease: 10108 * time.Millisecond})
			time.Sleep(3 * time.Millisecond)
			all = append(all, h)
		}
		time.Sleep(10 * second) // the first is due now, the last one 10 s later
		for _, h := range all {
			wantNoLoss(t, h)
		}
		// 200 items a second, gathered for up to 1 s, make two or three requests.
		if n := len(s.log()); n > 100 {
			t.Errorf("%d requests for %d renewals", n, e.Counts().Renewals)
		}
	})
}

func TestLongAServerThatHangsIsNotAskedByManyRequestsAtATime(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.hanging = true
		all := many(e, 5_000, 2*time.Millisecond)
		deadlines := make([]time.Time, len(all))
		for i, h := range all {
			deadlines[i] = h.Term().Deadline()
		}
		time.Sleep(time.Minute)
		for i, h := range all {
			wantLoss(t, h, renew.ErrExpired, deadlines[i])
		}
		t.Logf("%d requests, at most %d at a time", len(s.log()), s.mostAtATime)
		if s.mostAtATime > 100 {
			t.Errorf("up to %d requests were under way at a time", s.mostAtATime)
		}
	})
}

// Goal: whoever has a long lease is not dragged down by neighbours whose leases are so
// short that the network cannot serve them. Method: an answer takes 50 ms, which is
// nothing for a lease of 30 s; holds with a lease of 100 ms come and go all the time.
func TestLongALongLeaseSurvivesBesideLeasesThatCannotBeServed(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = 50 * time.Millisecond
		long := newHolder()
		e.Set(&long.Item, term(30*second))
		for range 32_000 / 4 {
			e.Set(&newHolder().Item, term(100*time.Millisecond))
			time.Sleep(4 * time.Millisecond)
		}
		wantNoLoss(t, long)
		if late := e.Counts().Late; late > 0 {
			t.Errorf("%d late renewals", late)
		}
	})
}

// Random arrivals, departures and latencies over an hour: nobody late, ever.
func TestLongAnHourOfComingAndGoingKeepsEveryLease(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		s := newServer()
		e := start(t, s.renew)
		here := map[*holder]bool{}
		var all []*holder
		for range 2_000 {
			s.set(func() { s.latency = time.Duration(random.IntN(100)) * time.Millisecond })
			h := newHolder()
			e.Set(&h.Item, term(time.Duration(3+random.IntN(60))*second))
			here[h] = true
			all = append(all, h)
			if random.IntN(3) == 0 {
				h := all[random.IntN(len(all))]
				if e.Remove(&h.Item) != here[h] {
					t.Error("Remove does not know what is watched")
				}
				delete(here, h)
			}
			time.Sleep(time.Duration(random.IntN(3600)) * time.Millisecond)
		}
		for _, h := range all {
			wantNoLoss(t, h)
		}
		if got := e.Counts(); got.Late > 0 || got.Failures > 0 || e.Len() != len(here) {
			t.Errorf("%+v, and %d of %d are watched", got, e.Len(), len(here))
		}
	})
}
