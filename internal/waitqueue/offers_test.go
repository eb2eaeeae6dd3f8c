package waitqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// How a lock is offered to other processes, and what the queue learns from that.

// rival is another process that is subscribed to the channel, and two goroutines of this one that
// take the lock again and again.
type rival struct {
	hub     *waitqueue.Hub
	station *station
	holder  *waitqueue.Waiter
}

// contended returns a queue whose lock is held, and for which another process waits as well.
func contended(t *testing.T) *rival {
	t.Helper()
	h, s := open(t)
	ws := asleep(t, h, 1)
	ws[0].Enter(far())
	return &rival{h, s, ws[0]}
}

// streak releases the lock until it is offered to others, or was released 40 times. It returns
// the number of releases, and the contender that holds back.
func (r *rival) streak(t *testing.T) (releases int, w *waitqueue.Waiter) {
	t.Helper()
	for releases = 1; releases <= 40; releases++ {
		w = r.hub.Join(channel, releases, false)
		next := r.hub.Release(channel, r.holder, true)
		told := r.station.publish(channel) + 1
		if next == nil {
			r.hub.Released(channel, false, told, 0)
			time.Sleep(500 * time.Microsecond) // our own message is late
			synctest.Wait()
			return releases, w
		}
		next.Complete("granted", true)
		r.hub.Released(channel, true, told, 0)
		next.Next(time.Now())
		next.Enter(far())
		r.holder = next
	}
	t.Fatal("the lock is never offered")
	return 0, nil
}

// takes lets another process hold the lock so often.
func (r *rival) takes(times int) {
	for range times {
		r.station.publish(channel)
	}
	time.Sleep(r.station.latency)
	synctest.Wait()
}

// heldBack waits until w may try, lets it have the lock, and returns how long that took.
func (r *rival) heldBack(w *waitqueue.Waiter) time.Duration {
	began := time.Now()
	for {
		step := w.Next(time.Now())
		if step.Try {
			break
		}
		time.Sleep(time.Until(step.At))
	}
	w.Enter(far())
	r.holder = w
	return time.Since(began)
}

func TestALockIsOfferedAgainAfterAsManySectionsAsOthersTookTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := contended(t)
		r.station.latency = 100 * time.Microsecond
		want := 16
		for i, taken := range []int{1, 1, 3, 2, 16, 16} {
			n, w := r.streak(t)
			if n != want {
				t.Errorf("offer %d comes at release %d, want %d", i, n, want)
			}
			r.takes(taken)
			if d := r.heldBack(w); d > 0 {
				t.Errorf("offer %d: held back for %v after others released the lock", i, d)
			}
			want = min(2*taken, 16)
		}
	})
}

// Goal: who waits here holds back until others have had about half of their last share, because
// every attempt before is in vain.
func TestTheContenderLetsOthersHaveHalfOfTheirLastTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := contended(t)
		r.station.latency = 100 * time.Microsecond
		_, w := r.streak(t)
		r.takes(10)
		r.heldBack(w)
		_, w = r.streak(t)
		r.takes(4)
		if w.Next(time.Now()).Try {
			t.Error("it asks after four of ten")
		}
		r.takes(1)
		if !w.Next(time.Now()).Try {
			t.Error("it does not ask after five of ten")
		}
		w.Enter(far())
		r.holder = w
		_, w = r.streak(t)
		r.takes(1000) // so many that this process was hardly ever quicker
		r.heldBack(w)
		_, w = r.streak(t)
		r.takes(8)
		if !w.Next(time.Now()).Try {
			t.Error("others have had half of the longest streak of this process, and it does not ask")
		}
		w.Enter(far())
		r.holder = w
		_, w = r.streak(t)
		r.takes(1)
		if d := r.heldBack(w); d <= 0 || d > 2*ms {
			t.Errorf("others are silent after one section, and it holds back for %v", d)
		}
	})
}

// Goal: others have time to come, and those that only listen cost next to nothing.
func TestAnOfferThatNobodyTakesComesSeldomAndIsShortInBetween(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := contended(t)
		_, w := r.streak(t)
		if d := r.heldBack(w) + 500*time.Microsecond; d != 20*ms {
			t.Errorf("the first offer lasts %v", d)
		}
		var lost time.Duration
		began := time.Now()
		for time.Since(began) < 20*time.Second {
			w := r.hub.Join(channel, 0, false)
			if r.hub.Release(channel, r.holder, true) != nil {
				w.Complete("granted", true)
				r.hub.Released(channel, true, r.station.publish(channel)+1, 0)
				time.Sleep(ms)
				w.Next(time.Now())
				w.Enter(far())
				r.holder = w
				continue
			}
			r.hub.Released(channel, false, r.station.publish(channel)+1, 0)
			lost += r.heldBack(w)
		}
		if lost > 900*ms {
			t.Errorf("a process that only listens costs %v in 20 s", lost)
		}
		w = r.hub.Join(channel, 0, false)
		if r.hub.Release(channel, r.holder, true) != w {
			t.Fatal("offered again too soon")
		}
		w.Complete("granted", true)
		r.hub.Released(channel, true, r.station.publish(channel)+2, 0) // somebody else has come
		w.Next(time.Now())
		w.Enter(far())
		r.holder = w
		if _, w = r.streak(t); r.heldBack(w) < 19*ms {
			t.Error("one more listens, and the next offer is short")
		}
	})
}

func TestAStreakOfLongSectionsEndsEarly(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, 4 * ms} {
		synctest.Test(t, func(t *testing.T) {
			r := contended(t)
			long := max(10*ms, 8*took)
			for _, part := range []time.Duration{0, long - 1, 1} {
				time.Sleep(part)
				w := r.hub.Join(channel, 0, false)
				next := r.hub.Release(channel, r.holder, true)
				if offered := next == nil; offered != (part == 1) {
					t.Fatalf("releases take %v: %v after the last one, offered is %v", took, part, offered)
				}
				if next != nil {
					next.Complete("granted", true)
					r.hub.Released(channel, true, r.station.publish(channel)+1, took)
					next.Next(time.Now())
					next.Enter(far())
				}
				r.holder = w
			}
		})
	}
}

// Goal: a goroutine for which nobody waits in its process leaves the lock to others as well.
func TestALoneGoroutineOffersTheLock(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		ctx := t.Context()
		release := func(told int) {
			h.Release(channel, nil, true)
			h.Released(channel, false, told, 0)
		}
		for range 50 {
			if release(0); h.MustWait(ctx, channel) {
				t.Fatal("it holds back though nobody listens")
			}
		}
		release(1)
		time.Sleep(3 * time.Second)
		for range 15 { // the queue was dropped meanwhile, or the time of the streak would be over
			if release(1); h.MustWait(ctx, channel) {
				t.Fatal("it holds back too early")
			}
		}
		release(1)
		if !h.MustWait(ctx, channel) {
			t.Fatal("the lock is not offered at the sixteenth release that others heard")
		}
		short, cancel := context.WithTimeout(ctx, ms/2)
		defer cancel()
		if h.MustWait(short, channel) {
			t.Error("a caller without the time holds back")
		}
		w := h.Join(channel, 0, false)
		if step := w.Next(time.Now()); step.Try || time.Until(step.At) != 20*ms {
			t.Errorf("it does not hold back: %+v", step)
		}
		time.Sleep(20 * ms)
		if !w.Next(time.Now()).Try || !s.isSubscribed(channel) {
			t.Error("it does not ask afterwards, or did not listen")
		}
		w.Enter(far())
		time.Sleep(4 * time.Second)
		if release(1); s.isSubscribed(channel) || h.MustWait(ctx, channel) {
			t.Error("something is left of the queue after it was not used for a while")
		}
	})
}

// Goal: the places where an offer meets something else. Method: the waiter leaves, or the
// connection breaks and comes back, during an offer. The next waiter holds back as long.
func TestAnOfferOutlastsItsWaiterAndTheConnection(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(r *rival, w *waitqueue.Waiter){
		"left":      func(_ *rival, w *waitqueue.Waiter) { w.Leave() },
		"reconnect": func(r *rival, _ *waitqueue.Waiter) { r.station.disconnect() },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := contended(t)
				_, w := r.streak(t)
				next := r.hub.Join(channel, 0, false)
				happens(r, w)
				time.Sleep(15 * ms)
				if w.Next(time.Now()).Try || next.Next(time.Now()).Try {
					t.Error("a waiter asks during the offer")
				}
				time.Sleep(5 * ms)
				if !w.Next(time.Now()).Try && !next.Next(time.Now()).Try {
					t.Error("nobody asks after the offer")
				}
			})
		})
	}
}

// Goal: messages of hand-overs that come late are not taken for the release of another process.
func TestOwnMessagesThatComeLateDoNotEndAnOffer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := contended(t)
		r.station.latency = 3 * ms
		_, w := r.streak(t)
		time.Sleep(10 * ms)
		if w.Next(time.Now()).Try {
			t.Error("own messages ended the offer")
		}
		r.takes(1)
		if !w.Next(time.Now()).Try {
			t.Error("the message of another process did not end it")
		}
	})
}

func TestOfferMakesTheNextReleaseOfferTheLock(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			h, s := open(t)
			ws := asleep(t, h, 2)
			h.Offer(channel, waitqueue.Backoff{})
			if h.Release(channel, nil, true) != nil {
				t.Error("handed over")
			}
			h.Released(channel, false, s.publish(channel)+others, 0)
			if tries := ws[0].Next(time.Now()).Try; tries != (others == 0) {
				t.Errorf("%d others listen, and the contender tries: %v", others, tries)
			}
			if others == 0 && h.Release(channel, nil, true) != nil {
				t.Error("the contender tries and is claimed")
			}
		})
	}
}

// Goal: where two locks share a channel, a release of the one by this process does not end an
// offer of the other.
func TestAReleaseOfAnotherLockOnTheChannelDoesNotEndAnOffer(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		s.latency = 100 * time.Microsecond
		x, y := waitqueue.Key(channel, "x"), waitqueue.Key(channel, "{x}")
		a, b := h.Join(x, 1, false), h.Join(y, 2, false)
		for range 2 { // once more after the acknowledgement
			tried(t, a, far())
			tried(t, b, far())
			quiet(a, b)
		}
		h.Offer(x, waitqueue.Backoff{})
		h.Release(x, nil, true)
		h.Released(x, false, s.publish(channel)+1, 5*ms)
		h.Release(y, nil, true)
		s.publish(channel)
		time.Sleep(9 * ms)
		if a.Next(time.Now()).Try {
			t.Error("the contender does not hold back")
		}
		s.publish(channel)
		time.Sleep(ms / 2)
		if !a.Next(time.Now()).Try {
			t.Error("a release of another process does not end the offer")
		}
	})
}

// An offer whose release is not answered yet stays, although nobody waits and nobody was heard of.
func TestAnOfferThatIsNotAnsweredYetIsNotForgotten(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		h.Offer(channel, waitqueue.Backoff{})
		h.Release(channel, nil, true)
		h.Released(channel, false, 0, ms)
		time.Sleep(time.Second - ms) // unused queues are dropped once a second
		h.Offer(channel, waitqueue.Backoff{})
		h.Release(channel, nil, true)
		time.Sleep(2 * ms)
		h.Released(channel, false, 1, 2*ms)
		if !h.MustWait(context.Background(), channel) {
			t.Error("the lock was offered to one who listens, and nobody holds back")
		}
	})
}
