package waitqueue_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// station is a Redis that knows channels and nothing else. Its subscription
// connections break, refuse and delay as they are told to.
type station struct {
	mu       sync.Mutex
	down     error           // of new connections
	breaking bool            // connections break as soon as they are made
	silent   bool            // requests to subscribe are never acknowledged
	refused  map[string]bool // channels that may not be subscribed
	latency  time.Duration   // of acknowledgements and messages
	losing   bool            // messages

	attempts   []time.Time // to connect
	requests   []request
	wires      []*wire
	everClosed int
}

// request is one SUBSCRIBE or UNSUBSCRIBE.
type request struct {
	verb     string
	at       time.Time
	channels []string
}

var (
	errDown    = errors.New("connection refused")
	errBroken  = errors.New("connection broken")
	errRefused = &driver.ServerError{Message: "NOPERM No permissions to access a channel"}
)

func (s *station) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// listen has the form of waitqueue.Listen.
func (s *station) listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, time.Now())
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.down != nil {
		return nil, s.down
	}
	w := &wire{
		station: s, events: events, subscribed: make(map[string]bool),
		queue: make(chan event, 1<<14), done: make(chan struct{}), delivered: make(chan struct{}),
	}
	s.wires = append(s.wires, w)
	go w.deliver()
	if s.breaking {
		w.cut()
	}
	return w, nil
}

// publish delivers a message to everybody who is subscribed, and says how many that is.
func (s *station) publish(channel string) (told int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wires {
		if w.subscribed[channel] {
			told++
			if !s.losing {
				w.queue <- event{at: time.Now().Add(s.latency), channel: channel}
			}
		}
	}
	return told
}

// resubscribe acknowledges a subscription once more, as a listener of several servers does
// that has lost one of them and subscribed at another.
func (s *station) resubscribe(channel string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.wires {
		if w.subscribed[channel] {
			w.queue <- event{at: time.Now().Add(s.latency), channel: channel, ack: true}
		}
	}
}

// disconnect breaks every connection.
func (s *station) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range slices.Clone(s.wires) {
		w.cut()
	}
}

func (s *station) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wires)
}

// isSubscribed says whether a connection listens to channel.
func (s *station) isSubscribed(channel string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.wires, func(w *wire) bool { return w.subscribed[channel] })
}

// since returns the moments of the attempts to connect, counted from a start.
func (s *station) since(start time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []time.Duration
	for _, at := range s.attempts {
		if !at.Before(start) {
			all = append(all, at.Sub(start))
		}
	}
	return all
}

func (s *station) log(verb string) []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []request
	for _, r := range s.requests {
		if r.verb == verb {
			all = append(all, r)
		}
	}
	return all
}

// wire is one subscription connection.
type wire struct {
	station   *station
	events    driver.Events
	queue     chan event
	done      chan struct{}
	delivered chan struct{} // closed when no event can follow

	subscribed map[string]bool // guarded by the station's mutex
}

type event struct {
	at      time.Time
	channel string
	ack     bool
}

// deliver hands events over one after another, until the connection is gone.
func (w *wire) deliver() {
	defer close(w.delivered)
	for {
		select {
		case e := <-w.queue:
			if !w.wait(time.Until(e.at)) {
				return
			}
			if e.ack {
				w.events.Subscribed(e.channel)
			} else {
				w.events.Message(e.channel, "0")
			}
		case <-w.done:
			return
		}
	}
}

func (w *wire) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-w.done:
		return false
	}
}

// cut ends the connection. The station's mutex is held.
func (w *wire) cut() {
	if i := slices.Index(w.station.wires, w); i >= 0 {
		w.station.wires = slices.Delete(w.station.wires, i, i+1)
		close(w.done)
	}
}

func (w *wire) Subscribe(_ context.Context, channels ...string) error {
	s := w.station
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{"subscribe", time.Now(), slices.Clone(channels)})
	if !slices.Contains(s.wires, w) {
		return errBroken
	}
	if slices.ContainsFunc(channels, func(c string) bool { return s.refused[c] }) {
		return errRefused
	}
	if s.silent {
		return nil
	}
	for _, channel := range channels {
		w.subscribed[channel] = true
		w.queue <- event{at: time.Now().Add(s.latency), channel: channel, ack: true}
	}
	return nil
}

func (w *wire) Unsubscribe(_ context.Context, channels ...string) error {
	s := w.station
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{"unsubscribe", time.Now(), slices.Clone(channels)})
	if !slices.Contains(s.wires, w) {
		return errBroken
	}
	for _, channel := range channels {
		delete(w.subscribed, channel)
	}
	return nil
}

func (w *wire) Done() <-chan struct{} { return w.done }

func (w *wire) Close() {
	w.station.set(func() {
		w.cut()
		w.station.everClosed++
	})
	<-w.delivered
}

// bubble runs a test in fake time, with a hub on a station.
func bubble(t *testing.T, test func(t *testing.T, h *waitqueue.Hub, s *station)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, s := open(t)
		test(t, h, s)
	})
}

// open returns a hub on a station, until the end of the test.
func open(t *testing.T) (*waitqueue.Hub, *station) {
	s := &station{latency: time.Millisecond, refused: make(map[string]bool)}
	h := waitqueue.NewHub(s.listen, slog.New(slog.DiscardHandler))
	t.Cleanup(h.Stop)
	return h, s
}

const channel = "redisson_lock__channel:{job}"

// far is a moment that no test comes to.
func far() time.Time { return time.Now().Add(time.Hour) }

// woken says whether w was signalled, and takes the signal.
func woken(w *waitqueue.Waiter) bool {
	select {
	case <-w.Woken():
		return true
	default:
		return false
	}
}

// quiet lets everything happen that happens by itself right now, and takes the signals.
func quiet(ws ...*waitqueue.Waiter) {
	time.Sleep(20 * time.Millisecond)
	for _, w := range ws {
		woken(w)
	}
}

// tried has w make an attempt in vain.
func tried(t *testing.T, w *waitqueue.Waiter, until time.Time) {
	t.Helper()
	if step := w.Next(time.Now()); !step.Try {
		t.Fatalf("it is not to try: %+v", step)
	}
	w.Tried(until)
}

// asleep returns n waiters for the channel, of whom the first has tried, and the
// second time after the acknowledgement, and nobody has anything to do now.
func asleep(t *testing.T, h *waitqueue.Hub, n int) []*waitqueue.Waiter {
	t.Helper()
	ws := make([]*waitqueue.Waiter, n)
	for i := range ws {
		ws[i] = h.Join(channel, i, false)
	}
	tried(t, ws[0], far())
	quiet(ws...)
	tried(t, ws[0], far())
	return ws
}
