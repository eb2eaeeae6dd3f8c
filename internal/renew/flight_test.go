package renew_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// What can happen to an item while a renewal of it is under way.

// inFlight has a renewal of a new item under way when it calls then, at 10 s. It is
// answered as answer says, 1 s later; the item's deadline is at 29.698 s.
func inFlight(t *testing.T, answer func(it *renew.Item) (bool, error), then func(t *testing.T, e *renew.Engine, h *holder, began time.Time)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		began := time.Now()
		flights := 0
		e := start(t, func(ctx context.Context, batch []*renew.Item) ([]bool, time.Time, error) {
			asked := time.Now()
			if flights++; flights > 1 {
				return []bool{true}, asked, nil
			}
			if err := sleep(ctx, second); err != nil {
				return nil, asked, err
			}
			kept, err := answer(batch[0])
			return []bool{kept}, asked, err
		})
		e.Set(&h.Item, term(30*second))
		time.Sleep(10 * second)
		synctest.Wait()
		if flights != 1 {
			t.Fatalf("%d flights after a third of the lease", flights)
		}
		then(t, e, h, began)
	})
}

func yes(*renew.Item) (bool, error)     { return true, nil }
func no(*renew.Item) (bool, error)      { return false, nil }
func failing(*renew.Item) (bool, error) { return false, errDown }

func TestAnItemRemovedInFlightIsNotLostAndDoesNotComeBack(t *testing.T) {
	for name, answer := range map[string]func(*renew.Item) (bool, error){"kept": yes, "gone": no, "error": failing} {
		t.Run(name, func(t *testing.T) {
			inFlight(t, answer, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
				before := h.Term()
				if !e.Remove(&h.Item) {
					t.Error("Remove did not find it")
				}
				time.Sleep(time.Minute)
				wantNoLoss(t, h)
				if e.Len() != 0 || e.Remove(&h.Item) {
					t.Error("it is watched again")
				}
				if h.Term() != before {
					t.Error("its term was changed after it was removed")
				}
				if got := e.Counts(); got != (renew.Counts{}) {
					t.Errorf("counted: %+v", got)
				}
			})
		})
	}
}

func TestATermSetInFlightOutlivesTheAnswerOfAnEarlierRequest(t *testing.T) {
	for name, answer := range map[string]func(*renew.Item) (bool, error){"kept": yes, "error": failing} {
		t.Run(name, func(t *testing.T) {
			inFlight(t, answer, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
				time.Sleep(second / 2)
				later := term(30 * second)
				e.Set(&h.Item, later)
				time.Sleep(second)
				if h.Term().Asked.Before(later.Asked) {
					t.Errorf("the term began %v before the one that was set", later.Asked.Sub(h.Term().Asked))
				}
				time.Sleep(time.Minute)
				wantNoLoss(t, h)
			})
		})
	}
}

func TestAnEarlierTermSetInFlightChangesNothing(t *testing.T) {
	inFlight(t, yes, func(t *testing.T, e *renew.Engine, h *holder, began time.Time) {
		before := h.Term()
		e.Set(&h.Item, renew.Term{Asked: began.Add(-second), Lease: 30 * second, Every: 10 * second})
		if h.Term() != before {
			t.Error("it was taken")
		}
		time.Sleep(2 * second)
		if got := h.Term().Asked.Sub(began); got != 10*second {
			t.Errorf("the flight was not taken: the term began at %v", got)
		}
	})
}

func TestAConfirmationAfterTheDeadlineIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		e := start(t, func(context.Context, []*renew.Item) ([]bool, time.Time, error) {
			asked := time.Now()
			time.Sleep(25 * second) // deaf to its context
			return []bool{true}, asked, nil
		})
		e.Set(&h.Item, term(30*second))
		before, deadline := h.Term(), h.Term().Deadline()
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, deadline)
		if e.Len() != 0 || h.Term() != before {
			t.Error("it came back to life")
		}
	})
}

// A shorter term set in flight: the deadline moves up, and the flight does not hide it.
func TestADeadlineThatMovesUpInFlightIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hanging = true
		e := start(t, s.renew)
		h := newHolder()
		e.Set(&h.Item, term(30*second))
		time.Sleep(11 * second)
		shorter := renew.Term{Asked: time.Now(), Lease: 2 * second}
		e.Set(&h.Item, shorter)
		time.Sleep(time.Minute)
		wantLoss(t, h, renew.ErrExpired, shorter.Deadline())
	})
}

// Goal: a holder never believes in more than Redis was asked for. A re-entry with a
// longer lease is confirmed while a renewal with the old lease is under way, and that
// one is carried out last: its request was put together before, and left after.
func TestAFlightConfirmsTheLeaseThatItAskedForAndNotALongerOneSetMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		var expiry moment // as Redis has it
		e := start(t, func(_ context.Context, batch []*renew.Item) ([]bool, time.Time, error) {
			lease := batch[0].Term().Lease
			time.Sleep(2 * second) // a first request that was lost
			asked := time.Now()
			expiry.set(asked.Add(lease))
			time.Sleep(second)
			return []bool{true}, asked, nil
		})
		e.Set(&h.Item, term(10*second))
		time.Sleep(4 * second)
		e.Set(&h.Item, term(60*second))
		expiry.set(time.Now().Add(60 * second))
		time.Sleep(3 * second)
		if late := h.Term().Deadline().Sub(expiry.get()); late > 0 {
			t.Errorf("the holder trusts the lease for %v longer than Redis keeps it", late)
		}
	})
}

// As above, but the moments cross too: the renewal took the time first and was
// carried out last, as two goroutines may do that write to one connection.
func TestARenewalThatWasOvertakenByALongerTermIsMadeGoodBeforeItsLeaseEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		var expiry moment // as Redis has it
		e := start(t, func(_ context.Context, batch []*renew.Item) ([]bool, time.Time, error) {
			asked, lease := time.Now(), batch[0].Term().Lease
			time.Sleep(second) // before it is carried out
			expiry.set(time.Now().Add(lease))
			return []bool{true}, asked, nil
		})
		e.Set(&h.Item, term(10*second))
		time.Sleep(4 * second) // the renewal left at 3.3 s and arrives at 4.3 s
		expiry.set(time.Now().Add(60 * second))
		e.Set(&h.Item, term(60*second))
		for range 60 {
			time.Sleep(second)
			if len(h.lost()) == 0 && !h.Term().Over(time.Now()) && time.Now().After(expiry.get()) {
				t.Fatalf("the holder trusts a lease that ended in Redis %v ago, for another %v",
					time.Since(expiry.get()), time.Until(h.Term().Deadline()))
			}
		}
	})
}

// An item that is removed and set again is watched anew: what an earlier flight finds
// was true before that.
func TestTheAnswerToAFlightOfAnEarlierWatchIsIgnored(t *testing.T) {
	inFlight(t, no, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
		e.Remove(&h.Item)
		time.Sleep(second / 2)
		e.Set(&h.Item, term(30*second))
		time.Sleep(time.Minute)
		wantNoLoss(t, h)
		if e.Len() != 1 {
			t.Error("the new watch is gone")
		}
	})
}

func TestNoRenewalStartsForAnItemAfterRemoveReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.latency = second
		e := start(t, s.renew)
		all := make([]*holder, 3*batchSize)
		for i := range all {
			all[i] = newHolder()
			e.Set(&all[i].Item, term(30*second))
		}
		time.Sleep(10*second + second/2) // the first of three requests is under way
		removed := time.Now()
		for _, h := range all {
			e.Remove(&h.Item)
		}
		time.Sleep(time.Minute)
		for _, r := range s.log() {
			if r.at.After(removed) {
				t.Errorf("a request with %d items left %v after they were removed", len(r.items), r.at.Sub(removed))
			}
		}
	})
}

func TestStopInFlightLeavesNothingRunningAndLosesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hanging = true
		e := renew.Start(s.renew)
		all := make([]*holder, 5)
		for i := range all {
			all[i] = newHolder()
			e.Set(&all[i].Item, term(time.Duration(30*(i+1))*second))
		}
		time.Sleep(35 * second)
		survivors := e.Len()
		stopped := time.Now()
		e.Stop()
		if d := time.Since(stopped); d > 0 {
			t.Errorf("Stop took %v", d)
		}
		requests := len(s.log())
		e.Stop()
		late := newHolder()
		e.Set(&late.Item, term(second))
		time.Sleep(time.Hour)
		if len(s.log()) != requests {
			t.Error("a request left after Stop")
		}
		if s.underWay != 0 {
			t.Errorf("%d requests are under way after Stop", s.underWay)
		}
		if survivors != len(all)-1 || e.Len() != 0 {
			t.Errorf("%d were watched before Stop and %d after it", survivors, e.Len())
		}
		for _, h := range append(all[1:], late) {
			wantNoLoss(t, h)
			if e.Remove(&h.Item) {
				t.Error("an item is still watched")
			}
		}
	})
}

func TestStopBetweenTheBatchesOfAFlightSendsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.latency = second
		e := renew.Start(s.renew)
		for range 3 * batchSize {
			e.Set(&newHolder().Item, term(30*second))
		}
		time.Sleep(10*second + second/2)
		underWay := len(s.log())
		e.Stop()
		if n := len(s.log()); n != underWay {
			t.Errorf("%d requests, of which %d were under way", n, underWay)
		}
	})
}
