package histories

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/pause"
)

// worker is one goroutine that contends for locks.
type worker struct {
	*field
	clients []*redlatch.Client
	wires   []*Wire
	number  int
	name    string
	random  *rand.Rand
}

// turn is one owner's life: it looks, or it acquires a lock, perhaps again, and releases all.
func (w *worker) turn(ctx context.Context) {
	if w.pool != nil && w.random.IntN(3) == 0 {
		w.count(ctx)
		return
	}
	if w.counted {
		w.share(ctx)
		return
	}
	if w.status != nil && w.random.IntN(3) == 0 {
		w.recorder.Look(ctx, w.number, w.name, w.status(w.clients[0], w.name))
		return
	}
	below, options := ctx, w.options
	cohort := w.cohort > 0 && w.random.IntN(4) > 0 // which has no owners
	if cohort {
		options = append(slices.Clone(options), redlatch.WithCohort(w.cohort))
	}
	for _, c := range w.clients {
		if !cohort {
			below = c.WithOwner(below)
		}
	}
	subjects := w.subjects(w.clients, w.name)
	s := w.subject(subjects)
	h := w.recorder.Owner(w.number, w.wires)
	if !w.acquire(below, h, s, options) {
		w.rest(ctx, 10*time.Millisecond)
		return
	}
	w.work(ctx, h)
	if w.nested && !cohort && w.random.IntN(2) == 0 {
		inner := w.subject(subjects)
		inner.Read = inner.Read || s.Read
		if s.Read {
			inner.Lock = s.Lock // a reader does not become a writer
		}
		if w.acquire(below, h, inner, options) {
			w.work(ctx, h)
			h.Release(context.Background(), w.random.IntN(2))
			w.work(ctx, h)
		}
	}
	h.Release(context.Background(), 0)
}

// count looks how many permits are available, and sometimes changes how many there are: one more, or one
// fewer, than there were.
func (w *worker) count(ctx context.Context) {
	p := w.pool(w.clients[0], w.name)
	if w.random.IntN(8) > 0 {
		w.recorder.LookFor(ctx, w.number, w.name, p.Available)
		w.rest(ctx, 2*time.Millisecond)
		return
	}
	n := 1 - 2*w.random.IntN(2)
	w.recorder.Resize(ctx, w.number, w.name, n, p.AddPermits)
	w.rest(ctx, 10*time.Millisecond)
	w.recorder.Resize(context.Background(), w.number, w.name, -n, p.AddPermits)
}

// share is the life of one owner of permits that nobody owns: it takes some, or all, and puts them back.
func (w *worker) share(ctx context.Context) {
	s := w.recorder.Sharer(w.number, w.wires, w.clients[0].Semaphore(w.name))
	limited, cancel := context.WithTimeout(ctx, time.Duration(w.random.Int64N(int64(lease))))
	defer cancel()
	switch n := 1 + w.random.IntN(2); w.random.IntN(8) {
	case 0:
		s.Drain(ctx)
	case 1, 2, 3:
		s.Try(ctx, n)
	default:
		s.Wait(limited, n)
	}
	w.rest(ctx, time.Duration(w.random.Int64N(int64(30*time.Millisecond))))
	if s.n > 0 {
		s.Release(context.Background())
	}
}

func (w *worker) subject(subjects []Subject) Subject {
	s := subjects[w.random.IntN(len(subjects))]
	s.Exact = w.exact
	if s.Names == nil {
		s.Names = []string{w.name}
	}
	return s
}

// acquire tries, or waits for a time and gives up by its option or by its context. What is refused at once has
// to be held just then. In a long wait somebody nearly always has the lock.
func (w *worker) acquire(ctx context.Context, h *Held, s Subject, options []redlatch.LockOption) bool {
	limit := time.Duration(w.random.Int64N(int64(lease)))
	switch w.random.IntN(3) {
	case 0:
		limited, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return h.Acquire(limited, s, limit, options...)
	case 1:
		limit = 0
	}
	return h.Acquire(ctx, s, limit, append(slices.Clone(options), redlatch.WithWait(limit))...)
}

// work relies on a hold for as long as it is valid, up to a time.
func (w *worker) work(ctx context.Context, h *Held) {
	most := 30 * time.Millisecond
	if w.random.IntN(10) == 0 {
		most = 3 * lease
	}
	for end := time.Now().Add(time.Duration(w.random.Int64N(int64(most)))); h.Valid() && time.Now().Before(end); {
		w.rest(ctx, time.Millisecond)
	}
}

func (w *worker) rest(ctx context.Context, d time.Duration) { _ = pause.For(ctx, d) }
