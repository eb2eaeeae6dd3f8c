package waitqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// Goal: processes that want one lock all the time get their share of it, and nobody waits for
// long. Method: fake time, in which only the ways to Redis and the sections take time. A process
// of another library is told like ours, needs a while to come, and releases the lock after one
// section.
func TestLongProcessesThatWantOneLockAllGetTheirShare(t *testing.T) {
	t.Parallel()
	us := func(goroutines int) contender { return contender{goroutines: goroutines} }
	other := func(wakes time.Duration) contender { return contender{goroutines: 2, wakes: wakes} }
	for _, c := range []struct {
		sides []contender
		least float64 // the share of each
	}{
		{[]contender{us(8), us(8)}, 0.40},
		{[]contender{us(2), us(2)}, 0.40},
		{[]contender{us(2), us(1)}, 0.28},
		{[]contender{us(1), us(1)}, 0.40},
		{[]contender{other(ms / 2), us(2)}, 0.25},
		{[]contender{other(2 * ms), us(2)}, 0.25},
		{[]contender{other(7 * ms), us(2)}, 0.25},
		{[]contender{other(2 * ms), us(1)}, 0.25},
		{[]contender{us(2), us(2), us(2)}, 0.15},                      // two race for an offer
		{[]contender{us(2), {goroutines: 1, pauses: time.Second}}, 0}, // and yet does not wait for long
	} {
		for _, each := range []time.Duration{0, ms / 5, 2 * ms} {
			synctest.Test(t, func(t *testing.T) {
				a := &arena{station: &station{latency: ms / 20}, random: rand.New(rand.NewPCG(1, 2))}
				sections, longest := a.contest(t, c.sides, each, time.Second/2+4*c.sides[1].pauses)
				t.Logf("%v with sections of %v: %v sections, longest waits %v", c.sides, each, sections, longest)
				all := 0
				for _, n := range sections {
					all += n
				}
				for i, n := range sections {
					if share := float64(n) / float64(all); share < c.least {
						t.Errorf("process %d has a share of %.2f, want %.2f", i, share, c.least)
					}
					// How another library shares among its threads is its own affair.
					worst := 50*ms + 60*each
					if len(c.sides) > 2 {
						worst *= 4 // two race for an offer, and chance decides
					}
					if c.sides[i].wakes == 0 && longest[i] > worst {
						t.Errorf("process %d waits for up to %v, want %v", i, longest[i], worst)
					}
				}
			})
		}
	}
}

// contender is a process that wants the lock. One of another library wakes slowly.
type contender struct {
	goroutines int
	wakes      time.Duration // zero: it is one of ours
	pauses     time.Duration // after each section
}

// arena is a Redis with one lock, and processes that take it.
type arena struct {
	station *station

	mu     sync.Mutex
	random *rand.Rand
	holder string
}

// contest lets the processes play, and returns the sections and the longest wait of each.
func (a *arena) contest(t *testing.T, sides []contender, each, span time.Duration) (sections []int, longest []time.Duration) {
	t.Helper()
	sections, longest = make([]int, len(sides)), make([]time.Duration, len(sides))
	var play sync.WaitGroup
	end := time.Now().Add(span)
	for i, side := range sides {
		enter := a.foreigner(side)
		if side.wakes == 0 {
			hub := waitqueue.NewHub(a.station.listen, slog.New(slog.DiscardHandler))
			defer hub.Stop()
			enter = func(who string) func() { return a.ours(hub, who) }
		}
		for n := range side.goroutines {
			play.Go(func() {
				for time.Now().Before(end) {
					asked := time.Now()
					leave := enter(fmt.Sprint(i, n))
					a.mu.Lock()
					sections[i]++
					longest[i] = max(longest[i], time.Since(asked))
					a.mu.Unlock()
					time.Sleep(each)
					leave()
					time.Sleep(side.pauses)
				}
			})
		}
	}
	play.Wait()
	a.station.disconnect()
	return sections, longest
}

// trip is half of the way to Redis and back, 50 µs or somewhat more.
func (a *arena) trip() {
	a.mu.Lock()
	d := 50*time.Microsecond + time.Duration(a.random.IntN(20000))
	a.mu.Unlock()
	time.Sleep(d)
}

func (a *arena) acquire(who string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.holder == "" {
		a.holder = who
	}
	return a.holder == who
}

func (a *arena) free() (told int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.holder = ""
	return a.station.publish(channel)
}

// ours enters as the library does. It returns what leaves.
func (a *arena) ours(hub *waitqueue.Hub, who string) func() {
	ask := func() bool {
		a.trip()
		defer a.trip()
		return a.acquire(who)
	}
	var w *waitqueue.Waiter
	if hub.MustWait(context.Background(), channel) || !ask() {
		w = hub.Join(channel, who, false)
		for {
			step := w.Next(time.Now())
			if step.Result == true || step.Try && ask() {
				w.Enter(far())
				break
			}
			if step.Try || step.Result != nil {
				w.Tried(far())
				continue
			}
			alarm := time.NewTimer(time.Until(far()))
			if step.Front {
				alarm.Reset(time.Until(step.At))
			}
			select {
			case <-w.Woken():
			case <-alarm.C:
			}
		}
	}
	return func() {
		began := time.Now()
		next := hub.Release(channel, w, true)
		a.trip()
		told := a.free()
		granted := next != nil && a.acquire(next.Value.(string))
		a.trip()
		if next != nil {
			next.Complete(granted, granted)
		}
		hub.Released(channel, next != nil, told, time.Since(began))
	}
}

// foreigner returns how another library enters: a message lets one of its threads ask.
func (a *arena) foreigner(c contender) func(who string) func() {
	permits := make(chan struct{}, 1<<16)
	if c.wakes > 0 {
		listener, _ := a.station.listen(context.Background(), driver.Events{
			Subscribed: func(string) {},
			Message:    func(string, string) { permits <- struct{}{} },
		})
		_ = listener.Subscribe(context.Background(), channel)
	}
	return func(who string) func() {
		for a.trip(); !a.acquire(who); a.trip() {
			select {
			case <-permits:
				time.Sleep(c.wakes)
			case <-time.After(3 * time.Second):
			}
		}
		a.trip()
		return func() {
			a.trip()
			a.free()
			a.trip()
		}
	}
}
