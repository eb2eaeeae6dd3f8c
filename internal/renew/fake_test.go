package renew_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/renew"
)

// holder is a subject that notes what it is told.
type holder struct {
	renew.Item
	mu     sync.Mutex
	losses []loss
}

type loss struct {
	why error
	at  time.Time
}

func (l loss) String() string { return l.why.Error() }

func newHolder() *holder {
	h := new(holder)
	h.Subject = h
	return h
}

func (h *holder) Lost(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.losses = append(h.losses, loss{why, time.Now()})
}

func (h *holder) lost() []loss {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.losses
}

// server is a Redis that holds leases and nothing else. It answers as it is told to.
type server struct {
	mu          sync.Mutex
	latency     time.Duration // half of it before the request is carried out
	down        error         // the answer to everything, at once
	hanging     bool          // no answer until the request's context ends
	gone        map[*renew.Item]bool
	expiry      map[*renew.Item]time.Time
	requests    []request
	underWay    int
	mostAtATime int
}

// moment is a time that several goroutines set.
type moment struct {
	mu sync.Mutex
	at time.Time
}

func (m *moment) set(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *moment) get() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at
}

type request struct {
	at    time.Time
	limit time.Time // of its context
	items []*renew.Item
}

// batchSize is the most that one request may extend: a longer script would hold up
// everybody else.
const batchSize = 100

var errDown = errors.New("the server is down")

func newServer() *server {
	return &server{gone: make(map[*renew.Item]bool), expiry: make(map[*renew.Item]time.Time)}
}

// set changes how the server behaves from now on.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// renew has the form of renew.Renew. It reads the leases when the request leaves, as
// a real one does.
func (s *server) renew(ctx context.Context, batch []*renew.Item) ([]bool, time.Time, error) {
	leases := make([]time.Duration, len(batch))
	for i, it := range batch {
		leases[i] = it.Term().Span(time.Now())
	}
	asked := time.Now()
	hanging, latency, down := s.enter(ctx, asked, batch)
	defer s.leave()
	if hanging {
		<-ctx.Done()
		return nil, asked, ctx.Err()
	}
	if down != nil {
		return nil, asked, down
	}
	if err := sleep(ctx, latency/2); err != nil {
		return nil, asked, err
	}
	kept := s.extend(batch, leases)
	if err := sleep(ctx, latency-latency/2); err != nil {
		return nil, asked, err
	}
	return kept, asked, nil
}

func (s *server) enter(ctx context.Context, asked time.Time, batch []*renew.Item) (hanging bool, latency time.Duration, down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, _ := ctx.Deadline()
	s.requests = append(s.requests, request{at: asked, limit: limit, items: batch})
	s.underWay++
	s.mostAtATime = max(s.mostAtATime, s.underWay)
	return s.hanging, s.latency, s.down
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
}

// extend sets the leases of those that are not gone.
func (s *server) extend(batch []*renew.Item, leases []time.Duration) []bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]bool, len(batch))
	for i, it := range batch {
		if kept[i] = !s.gone[it]; kept[i] {
			s.expiry[it] = time.Now().Add(leases[i])
		}
	}
	return kept
}

// expires is when a lease ends, as the server has it.
func (s *server) expires(it *renew.Item) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expiry[it]
}

func (s *server) log() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// moments are the times since start at which an item was part of a request.
func (s *server) moments(start time.Time, it *renew.Item) []time.Duration {
	var all []time.Duration
	for _, r := range s.log() {
		for _, one := range r.items {
			if one == it {
				all = append(all, r.at.Sub(start))
			}
		}
	}
	return all
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start runs an engine until the end of the test.
func start(t *testing.T, r renew.Renew) *renew.Engine {
	e := renew.Start(r)
	t.Cleanup(e.Stop)
	return e
}

// term is a renewed lease that was confirmed just now.
func term(lease time.Duration) renew.Term {
	return renew.Term{Asked: time.Now(), Lease: lease, Every: lease / 3}
}

// wantLoss fails unless h was told exactly once, for that reason, at that moment.
func wantLoss(t *testing.T, h *holder, why error, at time.Time) {
	t.Helper()
	losses := h.lost()
	switch {
	case len(losses) != 1:
		t.Errorf("Lost was called %d times, want once: %v", len(losses), losses)
	case !errors.Is(losses[0].why, why):
		t.Errorf("lost because %q, want %q", losses[0].why, why)
	case !losses[0].at.Equal(at):
		t.Errorf("Lost was called %v after the moment it should", losses[0].at.Sub(at))
	}
}

func wantNoLoss(t *testing.T, h *holder) {
	t.Helper()
	if losses := h.lost(); len(losses) > 0 {
		t.Errorf("lost: %v", losses)
	}
}
