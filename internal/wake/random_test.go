package wake_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch/internal/wake"
)

// Goal: no wake-up is ever missed, and waiters are served in the order of their coming.
// Method: random joins, departures, releases, thefts, messages and disconnects in fake
// time. Waiters behave as those of the library, except that they have no poll cap: who
// is not woken sleeps for an hour. So whenever the connection has been well for a
// moment and the lock is free, nobody may be waiting for it.

// step is one thing that happens. It is drawn before the clock is faked.
type step struct {
	verb string
	pick int
	span time.Duration
}

func (s step) String() string { return fmt.Sprintf("%s %d %v", s.verb, s.pick, s.span) }

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		verb: rapid.SampledFrom([]string{
			"join", "join", "join", "release", "release", "release", "leave",
			"take", "take", "give", "give", "steal", "force", "cut", "down", "up", "up",
			"settle", "far", "near",
		}).Draw(t, "verb"),
		pick: rapid.IntRange(0, 7).Draw(t, "pick"),
		span: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5, 20, 700, 1700}).Draw(t, "span")) * ms,
	}
}), 5, 80)

func TestNoWakeUpIsMissedAndTheOrderIsKeptWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan := steps.Draw(rt, "plan")
		var complaints []string
		synctest.Test(t, func(*testing.T) {
			p := newProcess()
			for i, s := range plan {
				p.take(s)
				synctest.Wait()
				time.Sleep(s.span + apart(i))
			}
			p.settle()
			p.end()
			complaints = p.complaints
		})
		if len(complaints) > 0 {
			rt.Fatalf("%s", strings.Join(complaints, "\n"))
		}
	})
}

// process is one that waits, holds and releases as the library does, beside a Redis
// with one lock, and another process that comes between.
type process struct {
	hub     *wake.Hub
	station *station
	work    sync.WaitGroup
	began   time.Time
	latency atomic.Int64 // to Redis and back

	mu         sync.Mutex
	holder     int // in Redis: a number from 1, 0 if free, or foreign
	others     int // subscribers elsewhere
	last       int // the last number given
	waiting    map[int]context.CancelFunc
	held       []int // by this process, as it believes
	complaints []string
}

const foreign = -1

func newProcess() *process {
	s := &station{latency: ms, refused: make(map[string]bool)}
	p := &process{
		hub: wake.NewHub(s.listen, slog.New(slog.DiscardHandler)), station: s,
		began: time.Now(), waiting: make(map[int]context.CancelFunc),
	}
	p.latency.Store(int64(ms))
	return p
}

// travel is half of the way to Redis and back.
func (p *process) travel(number int) {
	time.Sleep(time.Duration(p.latency.Load())/2 + apart(number))
}

// apart keeps what different numbers do from falling on one moment, so that a round
// that fails can be repeated.
func apart(number int) time.Duration { return time.Duration(101+37*number) * time.Nanosecond }

func (p *process) complain(format string, args ...any) {
	p.complaints = append(p.complaints, fmt.Sprintf("at %v: ", time.Since(p.began))+fmt.Sprintf(format, args...))
}

func (p *process) take(s step) {
	switch s.verb {
	case "join":
		p.join()
	case "leave":
		p.leave(s.pick)
	case "release":
		p.mu.Lock()
		if n := len(p.held); n > 0 {
			number := p.held[s.pick%n]
			p.held = slices.Delete(p.held, s.pick%n, s.pick%n+1)
			p.work.Go(func() { p.release(number) })
		}
		p.mu.Unlock()
	case "take": // another process comes first
		p.acquire(foreign)
		p.mu.Lock()
		p.others = s.pick % 2
		p.mu.Unlock()
	case "give":
		p.free(foreign)
	case "steal": // our hold expired, and another process was there at once
		p.mu.Lock()
		if p.holder > 0 {
			p.holder = foreign
		}
		p.mu.Unlock()
	case "force":
		p.force()
	case "cut":
		p.station.disconnect()
	case "down":
		p.station.set(func() { p.station.down = errDown })
		p.station.disconnect()
	case "up":
		p.station.set(func() { p.station.down = nil })
	case "near":
		p.latency.Store(int64(ms))
	case "far":
		p.latency.Store(int64(7 * ms))
	case "settle":
		p.settle()
	}
}

// join stands in the line, and waits in a goroutine of its own.
func (p *process) join() {
	p.mu.Lock()
	p.last++
	number := p.last
	ctx, cancel := context.WithCancel(context.Background())
	p.waiting[number] = cancel
	p.mu.Unlock()
	w := p.hub.Join(channel, number)
	p.work.Go(func() { p.wait(ctx, w, number) })
}

func (p *process) wait(ctx context.Context, w *wake.Waiter, number int) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		turn := w.Turn(time.Now())
		granted := false
		switch {
		case turn.Result != nil:
			granted = turn.Result.(bool)
		case turn.Try:
			p.travel(number)
			granted = p.acquire(number)
			p.travel(number)
		default:
			var alarm <-chan time.Time
			if turn.Front {
				timer.Reset(min(time.Until(turn.At), time.Hour))
				alarm = timer.C
			}
			select {
			case <-w.Rung():
			case <-alarm:
			case <-ctx.Done():
				p.giveUp(w, number)
				return
			}
			continue
		}
		if granted {
			w.Leave(time.Now().Add(time.Hour))
			p.granted(number)
			return
		}
		w.Tried(time.Now().Add(time.Hour))
	}
}

// giveUp leaves the line, and gives back what was handed over in the same moment.
func (p *process) giveUp(w *wake.Waiter, number int) {
	claimed := w.Leave(time.Time{})
	if !claimed && w.Turn(time.Now()).Result == true {
		p.release(number)
	}
}

// granted notes who holds, and that nobody who came before still waits.
func (p *process) granted(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, number)
	p.held = append(p.held, number)
	for other := range p.waiting {
		if other < number {
			p.complain("waiter %d was served before %d", number, other)
		}
	}
}

func (p *process) leave(pick int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var numbers []int
	for number := range p.waiting {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	if len(numbers) > 0 {
		number := numbers[pick%len(numbers)]
		p.waiting[number]()
		delete(p.waiting, number)
	}
}

// release does what the library does with the last hold of an owner.
func (p *process) release(number int) {
	next := p.hub.Claim(channel)
	began := time.Now()
	p.travel(number)
	held, told := p.free(number)
	granted := next != nil && p.acquire(next.Bid.(int))
	p.travel(number)
	if next != nil && !next.Settle(granted) && granted {
		p.work.Go(func() { p.release(next.Bid.(int)) })
	}
	p.hub.Announced(channel, next != nil, held, told, 2*time.Since(began)+ms)
}

// acquire and free are what Redis does.
func (p *process) acquire(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder == 0 {
		p.holder = number
	}
	return p.holder == number
}

func (p *process) free(number int) (held bool, told int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != number {
		return false, 0
	}
	p.holder = 0
	return true, p.station.publish(channel) + p.others
}

func (p *process) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != 0 {
		p.holder = 0
		p.station.publish(channel)
	}
}

// settle lets the connection be well for as long as the longest back-off takes, and
// everything else that is under way. Then the lock is not free while somebody waits.
func (p *process) settle() {
	p.station.set(func() { p.station.down = nil })
	time.Sleep(1500 * ms)
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.hub.Waiting(); n != len(p.waiting) {
		p.complain("the hub counts %d waiters, there are %d", n, len(p.waiting))
	}
	if p.holder == 0 && len(p.waiting) > 0 {
		p.complain("the lock is free, the connection is well, and %d sleep", len(p.waiting))
	}
}

// end lets everybody go, and looks at what is left.
func (p *process) end() {
	p.mu.Lock()
	for _, cancel := range p.waiting {
		cancel()
	}
	clear(p.waiting) // from here on the order does not matter
	p.mu.Unlock()
	p.work.Wait()
	time.Sleep(2 * time.Second)
	if n := p.hub.Subscribed(); n > 0 || p.station.connections() > 0 {
		p.complain("%d subscriptions and %d connections are left for nobody", n, p.station.connections())
	}
	p.hub.Stop()
}
