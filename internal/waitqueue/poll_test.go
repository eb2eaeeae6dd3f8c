package waitqueue_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Waiters that poll.

// polling is a value whose waiter polls.
type polling struct{ waitqueue.Backoff }

func (p polling) Joined(w *waitqueue.Waiter) { w.Backoff = p.Backoff }

var spin = polling{waitqueue.Backoff{First: ms, Max: 128 * ms}}

// nextTurn waits until the waiter is to try, and returns how long that took.
func nextTurn(t *testing.T, w *waitqueue.Waiter) time.Duration {
	t.Helper()
	began := time.Now()
	for time.Since(began) < time.Minute {
		if w.Next(time.Now()).Try {
			return time.Since(began)
		}
		select {
		case <-w.Woken():
		case <-time.After(time.Minute):
		}
	}
	t.Fatal("no step within a minute")
	return 0
}

func TestTheHubPollsForWaitersThatBringNoBackoff(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		h.Backoff = spin.Backoff
		for _, w := range []*waitqueue.Waiter{h.Join("a", 1, false), h.JoinShared("b", 1, false), h.Watch("c", waitqueue.Backoff{})} {
			tried(t, w, far())
			if took := nextTurn(t, w); took > ms {
				t.Errorf("the first pause is %v", took)
			}
			w.Leave()
		}
		if n := len(s.since(time.Time{})); n > 0 {
			t.Errorf("%d connections for messages", n)
		}
	})
}

// Goal: pauses double from the first to the longest, and are up to half shorter at random. Method:
// many waits, so that both ends of each range are seen.
func TestPausesGrowAndDiffer(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		const waits, pauses = 200, 10
		var shortest, longest [pauses]time.Duration
		for range waits {
			w := h.Join(channel, spin, false)
			w.Next(time.Now())
			for i := range pauses {
				w.Tried(far())
				took := nextTurn(t, w)
				if longest[i] = max(longest[i], took); shortest[i] == 0 || took < shortest[i] {
					shortest[i] = took
				}
			}
			w.Leave()
		}
		for i := range pauses {
			whole := min(ms<<i, 128*ms)
			if shortest[i] < whole/2 || shortest[i] > whole*6/10 || longest[i] > whole || longest[i] < whole*9/10 {
				t.Errorf("pause %d is between %v and %v, want from %v to %v", i, shortest[i], longest[i], whole/2, whole)
			}
		}
		if n := len(s.since(time.Time{})); n > 0 {
			t.Errorf("%d connections for messages", n)
		}
	})
}

func TestAWaiterThatPollsWakesForTheEndOfALease(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		w := h.Join(channel, polling{waitqueue.Backoff{First: time.Second, Max: time.Minute}}, false)
		tried(t, w, time.Now().Add(20*ms))
		if took := nextTurn(t, w); took != 20*ms {
			t.Errorf("it tries after %v, want 20ms", took)
		}
	})
}

// Goal: the last request of a limited wait leaves in time for its answer, and nothing is asked in vain
// or too often. Method: requests of different length.
func TestTheLastPauseIsCutToWhatIsLeftOfTheWait(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{0, ms, 30 * ms} {
		for _, wait := range []time.Duration{5 * ms, 100 * ms, time.Second, 1037 * ms} {
			synctest.Test(t, func(t *testing.T) {
				h, _ := open(t)
				w := h.Join(channel, polling{waitqueue.Backoff{First: 10 * ms, Max: time.Minute}}, false)
				defer w.Leave()
				w.Deadline = time.Now().Add(wait)
				var last time.Time
				for n := 0; ; n++ {
					step := w.Next(time.Now())
					if step.At.After(w.Deadline) {
						break
					}
					if !step.Try {
						<-w.Woken()
						continue
					}
					if since := time.Since(last); since < ms {
						t.Fatalf("two requests with %v between them", since)
					}
					time.Sleep(trip)
					last = time.Now()
					w.Tried(far())
				}
				left := w.Deadline.Sub(last)
				if most := max(5*ms, 2*trip) + 10*ms + trip; left < 0 && wait > 4*trip || left > most && wait > most {
					t.Errorf("wait %v, round trip %v: the last answer came %v before the end, want at most %v", wait, trip, left, most)
				}
			})
		}
	}
}

// A waiter for messages stands behind one that polls.
func TestTheNextWaiterSubscribesIfItDoesNotPoll(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		first, second := h.Join(channel, spin, false), h.Join(channel, 2, false)
		tried(t, first, far())
		quiet(first, second)
		if s.isSubscribed(channel) {
			t.Error("subscribed while the contender polls")
		}
		first.Leave()
		tried(t, second, far())
		quiet(second)
		if !s.isSubscribed(channel) {
			t.Error("not subscribed for a contender that waits for messages")
		}
	})
}

func TestAMessageWakesAWaiterThatPollsToo(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, s *station) {
		other := asleep(t, h, 1)[0]
		slow := h.Join(channel, polling{waitqueue.Backoff{First: time.Minute, Max: time.Minute}}, false)
		other.Leave()
		tried(t, slow, far())
		s.publish(channel)
		if took := nextTurn(t, slow); took > 2*ms {
			t.Errorf("it tries %v after a message", took)
		}
	})
}

// handing is a process that hands a lock over to its own waiters, which poll.
type handing struct {
	t      *testing.T
	hub    *waitqueue.Hub
	holder *waitqueue.Waiter
	next   *waitqueue.Waiter
	told   int // subscribers that each release reaches
}

func newHanding(t *testing.T, h *waitqueue.Hub) *handing {
	return &handing{t: t, hub: h, next: h.Join(channel, spin, false)}
}

// section ends a critical section of d. It reports whether the lock was handed over. If it was not, the
// next waiter is in front.
func (c *handing) section(d time.Duration) (handedOver bool) {
	time.Sleep(d)
	behind := c.hub.Join(channel, spin, false)
	claimed := c.hub.Release(channel, c.holder, true)
	c.hub.Released(channel, claimed != nil, c.told, ms)
	c.holder, c.next = c.next, behind
	if claimed == nil {
		return false
	}
	if claimed != c.holder {
		c.t.Fatal("the wrong waiter was claimed")
	}
	claimed.Complete(true, true)
	claimed.Next(time.Now())
	claimed.Enter(far())
	return true
}

// untilOffered goes on with sections of 2 ms until the lock is not handed over, and returns for how long
// it was.
func (c *handing) untilOffered() time.Duration {
	c.t.Helper()
	began := time.Now()
	for c.section(2 * ms) {
		if time.Since(began) > time.Minute {
			c.t.Fatal("the lock is never offered")
		}
	}
	return time.Since(began)
}

// enter lets the waiter in that is in front, which asks by itself.
func (c *handing) enter() (after time.Duration) {
	after = nextTurn(c.t, c.holder)
	c.holder.Enter(far())
	return after
}

// Goal: a process that polls gets the lock, although another one hands it over in memory: each longest
// pause is followed by one in which the lock is free, and eight of them at the latest if nobody comes.
func TestAProcessLetsOthersPollInBetween(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		c := newHanding(t, h)
		for _, longest := range []time.Duration{1, 8, 8} { // in lengths of the longest pause
			held := c.untilOffered()
			if held < longest*128*ms || held > longest*128*ms+4*ms {
				t.Errorf("the lock stayed here for %v, want %v", held, longest*128*ms)
			}
			if free := c.enter(); free != 128*ms {
				t.Errorf("it was free for %v, want 128ms", free)
			}
		}
		c.untilOffered()
		nextTurn(t, c.holder)
		c.holder.Tried(far()) // somebody took it
		c.enter()
		if held := c.untilOffered(); held > 128*ms+4*ms {
			t.Errorf("after somebody took it, the lock stayed here for %v, want 128ms", held)
		}
	})
}

func TestAWaiterDoesNotHoldBackBeyondItsWait(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		c := newHanding(t, h)
		c.untilOffered()
		c.holder.Deadline = time.Now().Add(50 * ms)
		if free := c.enter(); free < 40*ms || free >= 50*ms {
			t.Errorf("it tries %v after the release, want right before 50ms", free)
		}
	})
}

// A reader polls only if it says so itself: one that waits for messages asks with its batch.
func TestAReaderBehindOneThatPolledDoesNotPoll(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		polled, listens := h.Join(channel, spin, true), h.Join(channel, 1, true)
		polled.Next(time.Now())
		polled.Tried(far())
		polled.Leave()
		if step := listens.Next(time.Now()); !step.Try || step.Again {
			t.Errorf("it has the step %+v", step)
		}
		listens.Leave()
	})
}

// Goal: a wait that nobody was in front of begins with the first pause. Method: a queue that stays because its channel is
// subscribed, and a waiter that polled for long and has left.
func TestPausesBeginAnewWhenNobodyWaits(t *testing.T) {
	bubble(t, func(t *testing.T, h *waitqueue.Hub, _ *station) {
		listener := h.Join(channel, 1, false)
		tried(t, listener, far())
		time.Sleep(10 * ms)
		listener.Leave()
		before := h.Join(channel, spin, false)
		nextTurn(t, before)
		for range 10 {
			before.Tried(far())
			nextTurn(t, before)
		}
		before.Leave()
		w := h.Join(channel, spin, false)
		nextTurn(t, w)
		w.Tried(far())
		if took := nextTurn(t, w); took > ms {
			t.Errorf("the first pause is %v", took)
		}
	})
}
