package renew_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
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
	refused     map[*renew.Item]bool // answered by an error, each for itself
	expiry      map[*renew.Item]time.Time
	requests    []request
	underWay    int
	mostAtATime int
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
	return &server{
		gone: make(map[*renew.Item]bool), refused: make(map[*renew.Item]bool), expiry: make(map[*renew.Item]time.Time),
	}
}

// set changes how the server behaves from now on.
func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// renew has the form of renew.Renew.
func (s *server) renew(ctx context.Context, batch []renew.Renewal) []renew.Answer {
	asked := time.Now()
	hanging, latency, down := s.enter(ctx, asked, batch)
	defer s.leave()
	if hanging {
		<-ctx.Done()
		return same(batch, renew.Answer{Err: ctx.Err()})
	}
	if down != nil {
		return same(batch, renew.Answer{Err: down})
	}
	if err := pause.For(ctx, latency/2); err != nil {
		return same(batch, renew.Answer{Err: err})
	}
	answers := s.extend(batch, asked)
	if err := pause.For(ctx, latency-latency/2); err != nil {
		return same(batch, renew.Answer{Err: err})
	}
	return answers
}

// same is one answer for each of a batch.
func same(batch []renew.Renewal, answer renew.Answer) []renew.Answer {
	return slices.Repeat([]renew.Answer{answer}, len(batch))
}

func (s *server) enter(ctx context.Context, asked time.Time, batch []renew.Renewal) (hanging bool, latency time.Duration, down error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit, _ := ctx.Deadline()
	items := make([]*renew.Item, len(batch))
	for i, one := range batch {
		items[i] = one.Item
	}
	s.requests = append(s.requests, request{at: asked, limit: limit, items: items})
	s.underWay++
	s.mostAtATime = max(s.mostAtATime, s.underWay)
	return s.hanging, s.latency, s.down
}

func (s *server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
}

// extend raises the leases of those that are not gone, to what was asked for when the request
// left.
func (s *server) extend(batch []renew.Renewal, asked time.Time) []renew.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	answers := make([]renew.Answer, len(batch))
	for i, one := range batch {
		switch {
		case s.refused[one.Item]:
			answers[i].Err = errDown
		case !s.gone[one.Item]:
			answers[i] = renew.Answer{Held: true, Asked: asked, Lease: one.Term.Span(asked)}
			s.raise(one.Item, answers[i].Lease)
		}
	}
	return answers
}

// raise makes a lease last for at least so long. The mutex is held.
func (s *server) raise(it *renew.Item, lease time.Duration) {
	if expiry := time.Now().Add(lease); s.expiry[it].Before(expiry) {
		s.expiry[it] = expiry
	}
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

// bubble runs a test in fake time, with a server and an engine that renews on it.
func bubble(t *testing.T, test func(t *testing.T, s *server, e *renew.Engine)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		test(t, s, start(t, s.renew))
	})
}

// start runs an engine until the end of the test.
func start(t *testing.T, r renew.Renew) *renew.Engine {
	e := renew.StartUnguarded(r)
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
