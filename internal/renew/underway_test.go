package renew_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/renew"
)

// What can happen to an item while a renewal of it is under way.

// underWay has a renewal of a new item under way when it calls then, at 10 s. It is
// answered as answer says, 1 s later; the item's deadline is at 29.698 s.
func underWay(t *testing.T, answer renew.Answer, then func(t *testing.T, e *renew.Engine, h *holder, began time.Time)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		began := time.Now()
		requests := 0
		e := start(t, func(ctx context.Context, _ []renew.Renewal) []renew.Answer {
			asked := time.Now()
			if requests++; requests > 1 {
				return []renew.Answer{{Held: true, Asked: asked, Lease: 30 * second}}
			}
			if err := pause.For(ctx, second); err != nil {
				return []renew.Answer{{Err: err}}
			}
			answer.Asked, answer.Lease = asked, 30*second
			return []renew.Answer{answer}
		})
		e.Set(&h.Item, term(30*second))
		time.Sleep(10 * second)
		synctest.Wait()
		if requests != 1 {
			t.Fatalf("%d requests after a third of the lease", requests)
		}
		then(t, e, h, began)
	})
}

var (
	yes     = renew.Answer{Held: true}
	no      = renew.Answer{}
	failing = renew.Answer{Err: errDown, Held: true} // of which only the error means anything
)

func TestAnItemRemovedDuringARenewalIsNotLostAndDoesNotComeBack(t *testing.T) {
	for name, answer := range map[string]renew.Answer{"kept": yes, "gone": no, "error": failing} {
		t.Run(name, func(t *testing.T) {
			underWay(t, answer, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
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

func TestATermSetDuringARenewalOutlivesTheAnswerOfAnEarlierRequest(t *testing.T) {
	for name, answer := range map[string]renew.Answer{"kept": yes, "error": failing} {
		t.Run(name, func(t *testing.T) {
			underWay(t, answer, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
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

func TestAnEarlierConfirmationDuringARenewalChangesNothing(t *testing.T) {
	underWay(t, yes, func(t *testing.T, e *renew.Engine, h *holder, began time.Time) {
		before := h.Term()
		e.Set(&h.Item, renew.Term{Asked: began.Add(-second), Lease: 30 * second, Every: 10 * second})
		if h.Term() != before {
			t.Error("it was taken")
		}
		time.Sleep(2 * second)
		if got := h.Term().Asked.Sub(began); got != 10*second {
			t.Errorf("the answer was not taken: the term began at %v", got)
		}
	})
}

// An item is watched once. What was removed or lost does not come back, and nothing that was
// trusted before is trusted for what comes after.
func TestAnItemWhoseWatchHasEndedIsNotWatchedAgain(t *testing.T) {
	for name, end := range map[string]func(e *renew.Engine, h *holder){
		"removed": func(e *renew.Engine, h *holder) { e.Remove(&h.Item) },
		"gone":    func(*renew.Engine, *holder) { time.Sleep(second) },
	} {
		t.Run(name, func(t *testing.T) {
			underWay(t, no, func(t *testing.T, e *renew.Engine, h *holder, _ time.Time) {
				end(e, h)
				synctest.Wait()
				before, lost := h.Term(), len(h.lost())
				e.Set(&h.Item, term(time.Hour))
				if e.Len() != 0 || h.Term() != before {
					t.Error("it is watched again")
				}
				time.Sleep(2 * time.Hour)
				if e.Remove(&h.Item) || len(h.lost()) != lost {
					t.Errorf("lost %d times, and %d times before it was set again", len(h.lost()), lost)
				}
			})
		})
	}
}

func TestAConfirmationAfterTheDeadlineIsIgnored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHolder()
		e := start(t, func(context.Context, []renew.Renewal) []renew.Answer {
			asked := time.Now()
			time.Sleep(25 * second) // ignores its context
			return []renew.Answer{{Held: true, Asked: asked, Lease: 30 * second}}
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

func TestNoRenewalStartsForAnItemAfterRemoveReturned(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, e *renew.Engine) {
		s.latency = second
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

func TestStopDuringARenewalLeavesNothingRunningAndLosesNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.hanging = true
		e := renew.StartUnguarded(s.renew)
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

func TestStopBetweenTheBatchesOfAGroupSendsNoMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		s.latency = second
		e := renew.StartUnguarded(s.renew)
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
