package waitqueue_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/internal/waitqueue"
)

// process is one that waits, holds and releases as the library does, beside a Redis
// with one lock, and another process that comes between.
type process struct {
	hub     *waitqueue.Hub
	station *station
	work    sync.WaitGroup
	began   time.Time
	latency atomic.Int64  // to Redis and back
	most    time.Duration // that a contender sleeps
	lossy   bool

	mu         sync.Mutex
	holder     int // in Redis: a number from 1, 0 if free, or foreign
	others     int // subscribers elsewhere
	snatch     int // how soon, in ms, another process releases what it snatches next; 0 if nothing
	last       int // the last number given
	waiting    map[int]context.CancelFunc
	held       []hold // by this process, as it believes
	complaints []string
}

// hold is one that this process believes in.
type hold struct {
	number int
	waiter *waitqueue.Waiter // nil if it never waited
}

const foreign = -1

func newProcess(lossy bool) *process {
	s := &station{latency: ms, refused: make(map[string]bool)}
	p := &process{
		hub: waitqueue.NewHub(s.listen, slog.New(slog.DiscardHandler)), station: s,
		began: time.Now(), waiting: make(map[int]context.CancelFunc), most: time.Hour, lossy: lossy,
	}
	if lossy {
		p.most = 3 * time.Second
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
			h := p.held[s.pick%n]
			p.held = slices.Delete(p.held, s.pick%n, s.pick%n+1)
			p.work.Go(func() { p.release(h) })
		}
		p.mu.Unlock()
	case "notice":
		p.notice()
	case "grab":
		p.grab()
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
	case "snatch": // another process is there at once when the lock is freed, or granted to us
		p.mu.Lock()
		p.snatch = s.pick
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
	case "late": // messages
		p.station.set(func() { p.station.latency = 40 * ms })
	case "soon":
		p.station.set(func() { p.station.latency = ms })
	case "lose":
		p.station.set(func() { p.station.losing = p.lossy })
	case "deliver":
		p.station.set(func() { p.station.losing = false })
	case "near":
		p.latency.Store(int64(ms))
	case "far":
		p.latency.Store(int64(7 * ms))
	case "calm":
		p.calm()
	}
}

// join stands in the queue, and waits in a goroutine of its own.
func (p *process) join() {
	p.mu.Lock()
	p.last++
	number := p.last
	ctx, cancel := context.WithCancel(context.Background())
	p.waiting[number] = cancel
	p.mu.Unlock()
	w := p.hub.Join(channel, number, false)
	p.work.Go(func() { p.wait(ctx, w, number) })
}

func (p *process) wait(ctx context.Context, w *waitqueue.Waiter, number int) {
	timer := time.NewTimer(p.most)
	defer timer.Stop()
	for {
		step := w.Next(time.Now())
		granted := false
		switch {
		case step.Result != nil:
			granted = step.Result.(bool)
		case step.Try:
			p.travel(number)
			granted = p.acquire(number)
			p.travel(number)
		default:
			var alarm <-chan time.Time
			if step.Front {
				timer.Reset(min(time.Until(step.At), p.most))
				alarm = timer.C
			}
			select {
			case <-w.Woken():
			case <-alarm:
			case <-ctx.Done():
				p.cancelWait(w, number)
				return
			}
			continue
		}
		if granted {
			p.enter(hold{number, w})
			return
		}
		w.Tried(time.Now().Add(p.most))
	}
}

// cancelWait leaves the queue, and releases what was handed over in the same moment.
func (p *process) cancelWait(w *waitqueue.Waiter, number int) {
	claimed := w.Leave()
	if !claimed && w.Next(time.Now()).Result == true {
		p.release(hold{number, w})
	}
}

// enter notes who holds, and that nobody who came before still waits. Where the hold is lost
// already, whoever finds that out may be faster.
func (p *process) enter(h hold) {
	p.mu.Lock()
	number, lost := h.number, p.holder != h.number
	p.mu.Unlock()
	if lost {
		p.hub.Wake(channel, h.waiter)
	}
	h.waiter.Enter(time.Now().Add(p.most))
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, number)
	if !lost {
		p.held = append(p.held, h)
	}
	for other := range p.waiting {
		if other < number {
			p.complain("waiter %d was served before %d", number, other)
		}
	}
}

func (p *process) leave(pick int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	numbers := slices.Sorted(maps.Keys(p.waiting))
	if len(numbers) > 0 {
		number := numbers[pick%len(numbers)]
		p.waiting[number]()
		delete(p.waiting, number)
	}
}

// notice makes the process find out that its holds are lost.
func (p *process) notice() {
	p.mu.Lock()
	var lost []hold
	p.held = slices.DeleteFunc(p.held, func(h hold) bool {
		if h.number != p.holder {
			lost = append(lost, h)
		}
		return h.number != p.holder
	})
	p.mu.Unlock()
	for _, h := range lost {
		p.hub.Wake(channel, h.waiter)
	}
}

// grab takes the lock without waiting.
func (p *process) grab() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last++; p.holder == 0 {
		p.holder = p.last
		p.held = append(p.held, hold{number: p.last})
	}
}

// release does what the library does with the last hold of an owner.
func (p *process) release(h hold) {
	number := h.number
	next := p.hub.Release(channel, h.waiter, true)
	began := time.Now()
	p.travel(number)
	told := p.free(number)
	granted := next != nil && p.acquire(next.Value.(int))
	p.travel(number)
	if next != nil && !next.Complete(granted, granted) && granted {
		p.work.Go(func() { p.release(hold{next.Value.(int), next}) })
	}
	p.hub.Released(channel, next != nil, told, 2*time.Since(began)+ms)
}

// acquire and free are what Redis does.
func (p *process) acquire(number int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != 0 {
		return p.holder == number
	}
	if p.holder = number; number != foreign && p.snatch%2 == 1 {
		p.snatched() // it expired, before we know that it was granted
	}
	return true
}

// snatched gives the lock to another process for a moment. The mutex is held.
func (p *process) snatched() {
	span := time.Duration(p.snatch)*ms/2 + apart(p.snatch)
	p.holder, p.snatch = foreign, 0
	p.work.Go(func() {
		time.Sleep(span)
		p.free(foreign)
	})
}

func (p *process) free(number int) (told int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != number {
		return 0
	}
	p.holder = 0
	told = p.station.publish(channel) + p.others
	if p.snatch > 0 {
		p.snatched()
	}
	return told
}

func (p *process) force() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holder != 0 {
		p.holder = 0
		p.station.publish(channel)
	}
}
