package waitqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// What the messages on the channel of a lock that is held here come to.

// holding returns a waiter that holds the lock, and one that waits behind it, which has tried.
func holding(t *testing.T, h *waitqueue.Hub) (holder, waiting *waitqueue.Waiter) {
	t.Helper()
	ws := asleep(t, h, 2)
	ws[0].Enter(far())
	quiet(ws...)
	return ws[0], ws[1]
}

// wokenByMessage publishes a message and says whether w is woken by it.
func wokenByMessage(s *station, w *waitqueue.Waiter) bool {
	quiet(w)
	s.publish(channel)
	time.Sleep(10 * ms)
	return woken(w) && w.Next(time.Now()).Try
}

func TestMessagesAreIgnoredWhileAWaiterOfTheQueueHoldsTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		_, w := holding(t, h)
		s.resubscribe(channel)
		quiet()
		if wokenByMessage(s, w) || woken(w) {
			t.Error("a contender was woken while its own process holds the lock")
		}
	})
}

// However a hold ends, the contender is woken, and messages wake it again.
func TestAfterTheEndOfAHoldTheQueueWakesItsContenderAndReactsToMessagesAgain(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(h *waitqueue.Hub, holder *waitqueue.Waiter){
		"released": func(h *waitqueue.Hub, holder *waitqueue.Waiter) {
			h.Release(channel, holder, false)
			h.Released(channel, false, 0, 0)
		},
		"lost": func(h *waitqueue.Hub, holder *waitqueue.Waiter) { h.Wake(channel, holder) },
		"lost, and released": func(h *waitqueue.Hub, holder *waitqueue.Waiter) {
			h.Wake(channel, holder)
			h.Release(channel, holder, false)
			h.Wake(channel, holder)
		},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, s := open(t)
				holder, w := holding(t, h)
				end(h, holder)
				if !woken(w) {
					t.Fatal("the contender was not woken")
				}
				tried(t, w, far())
				if !wokenByMessage(s, w) {
					t.Error("it does not react to messages")
				}
			})
		})
	}
}

// A release that finds that others still hold the lock is not followed by Released. They will
// publish the end of theirs.
func TestAReleaseThatLeavesOthersHoldingMakesTheQueueReactToMessagesAgain(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		holder, w := holding(t, h)
		h.Release(channel, holder, false)
		if !wokenByMessage(s, w) {
			t.Error("the contender does not react to messages")
		}
	})
}

// Goal: a hold that is lost at once does not make its queue ignore messages. Method: whoever finds out is
// faster than the waiter, which enters afterwards, and by whichever way it was granted.
func TestALossThatIsKnownBeforeTheWaiterEntersDoesNotMakeTheQueueIgnoreMessages(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			ws := asleep(t, h, 2)
			if claimed {
				h.Release(channel, nil, true)
				h.Wake(channel, ws[0])
				ws[0].Complete("granted", true)
				h.Released(channel, true, 0, 0)
				ws[0].Next(time.Now())
			} else {
				s.publish(channel)
				quiet()
				ws[0].Next(time.Now())
				h.Wake(channel, ws[0])
			}
			ws[0].Enter(far())
			tried(t, ws[1], far())
			if !wokenByMessage(s, ws[1]) {
				t.Errorf("claimed=%v: the next contender reacts to no message for as long as the queue lives", claimed)
			}
		})
	}
}

func TestAMessageThatWasIgnoredDuringAClaimWakesTheContenderIfTheClaimFails(t *testing.T) {
	t.Parallel()
	for what, granted := range map[string]bool{"granted": true, "refused": false} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			ws := asleep(t, h, 2)
			h.Release(channel, nil, true)
			ws[0].Leave() // the one behind it tries, and finds the old holder
			tried(t, ws[1], far())
			quiet(ws...)
			s.publish(channel)
			quiet()
			if woken(ws[1]) {
				t.Error("the message was not ignored")
			}
			if ws[0].Complete(what, granted); woken(ws[1]) == granted {
				t.Errorf("%s: want a wake-up only where the claim failed", what)
			}
		})
	}
}

// A claim is for all of a batch: the last answer decides.
func TestTheLastFailedClaimOfABatchWakesTheContender(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		front, next := h.Join(channel, 1, true), h.Join(channel, 2, true)
		tried(t, front, far())
		quiet(front)
		tried(t, front, far())
		claimed := h.Release(channel, nil, true)
		if batch := claimed.Batch(); claimed != front || len(batch) != 1 || batch[0] != next {
			t.Fatalf("the batch is %v", batch)
		}
		s.publish(channel)
		quiet(front)
		front.Complete("refused", false)
		front.Next(time.Now())
		front.Tried(far())
		if quiet(front); front.Next(time.Now()).Try {
			t.Error("the front tries while the next one is asked for")
		}
		next.Complete("refused", false)
		if !woken(front) || !front.Next(time.Now()).Try {
			t.Error("the message was forgotten")
		}
	})
}

// Goal: a reader never sleeps beside readers of its own process, whose messages are ignored.
// Method: another process holds the write side when the front is refused, and has ended it
// when the one behind it is answered. The message of that comes at any time.
func TestAReaderWhoseBatchWasLetInTriesAtOnce(t *testing.T) {
	t.Parallel()
	for _, claimed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			front, next := h.Join(channel, 1, true), h.Join(channel, 2, true)
			tried(t, front, far())
			quiet(front)
			if claimed {
				tried(t, front, far())
				h.Release(channel, nil, true)
			} else {
				front.Next(time.Now())
			}
			front.Batch()
			if claimed {
				front.Complete("refused", false)
				front.Next(time.Now())
				front.Tried(far())
				next.Complete("granted", true)
			} else {
				next.Complete("granted", true)
				front.Tried(far())
			}
			next.Next(time.Now())
			next.Enter(time.Time{})
			s.publish(channel)
			quiet()
			if step := front.Next(time.Now()); !step.Try {
				t.Errorf("claimed=%v: it sleeps for another %v beside a reader of its own process", claimed, time.Until(step.At))
			}
		})
	}
}

func TestAHolderThatNeverWaitedHandsTheLockOver(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		w := asleep(t, h, 1)[0]
		if !wokenByMessage(s, w) {
			t.Error("its messages are ignored though nobody of the queue holds the lock")
		}
		w.Tried(far())
		if h.Release(channel, nil, false) != nil {
			t.Error("handed over by a release that takes nothing along")
		}
		if h.Release(channel, nil, true) != w {
			t.Error("not handed over")
		}
		h.Wake(channel, nil)
		if !woken(w) {
			t.Error("not woken by a loss")
		}
	})
}

// While another waiter of the queue holds the lock beside the holder, there is nothing to hand over.
func TestNothingIsHandedOverWhileAnotherWaiterOfTheQueueHoldsTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		holder, w := holding(t, h)
		if h.Release(channel, nil, true) != nil {
			t.Error("handed over beside a holder of the queue")
		}
		if h.Release(channel, holder, true) != w {
			t.Error("the last holder does not hand over")
		}
	})
}

func TestAWaiterThatLeftWhileItWasClaimedCountsUntilItsGrantIsReleased(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ws := asleep(t, h, 2)
		left := h.Release(channel, nil, true)
		left.Leave()
		tried(t, ws[1], far())
		if left.Complete("granted", true) {
			t.Error("Complete did not notice that the waiter had left")
		}
		h.Released(channel, true, 0, 0)
		if wokenByMessage(s, ws[1]) {
			t.Error("woken while the grant is still there")
		}
		if h.Release(channel, left, true) != ws[1] {
			t.Error("the grant is not handed over")
		}
	})
}

// A queue that nobody waits in is forgotten, with all that it knew of its holders.
func TestNothingIsRememberedOfAQueueThatWasDropped(t *testing.T) {
	t.Parallel()
	for _, subscribed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			var holder *waitqueue.Waiter
			if subscribed {
				holder = asleep(t, h, 1)[0]
			} else {
				holder = h.Join(channel, 0, false)
				holder.Next(time.Now())
			}
			holder.Enter(far())
			time.Sleep(3 * time.Second) // longer than the subscription lingers
			if h.Subscribed() != 0 {
				t.Error("a holder keeps the subscription")
			}
			w := asleep(t, h, 1)[0]
			if !wokenByMessage(s, w) {
				t.Error("the new queue does not react to messages")
			}
			w.Tried(far())
			if h.Release(channel, holder, true) != w {
				t.Error("the holder of the old queue does not hand over to the new one")
			}
			h.Wake(channel, holder)
			w.Complete("granted", true)
			h.Released(channel, true, 0, 0)
			w.Next(time.Now())
			w.Enter(far())
			next := h.Join(channel, 0, false)
			tried(t, next, far())
			h.Wake(channel, holder) // once more, late
			tried(t, next, far())
			if wokenByMessage(s, next) {
				t.Error("the old holder was counted in the new queue")
			}
		})
	}
}
