package renew

import (
	"errors"
	"sync"
	"time"
)

// Item is one lease in an engine. The zero value is ready to be set. It is watched once.
type Item struct {
	// Subject is whose lease it is. It is set before the item is, and not after.
	Subject Subject

	mu   sync.Mutex
	term Term

	// Guarded by the engine's mutex.
	next     time.Time // of the event that the heap is ordered by
	place    int       // in the heap, from 1; 0 if the item is not watched
	renewing bool      // a request for it is under way
	ended    bool      // its watch has ended, for good
}

// Subject is told what becomes of its lease.
type Subject interface {
	// Lost is called once, when the lease is over without having been removed;
	// why is ErrExpired or ErrGone. It must not block.
	Lost(why error)
}

// Sharded is a Subject that knows which server has its lease. Leases of different servers are
// not renewed by one request, so that a server that is down does not delay the others.
type Sharded interface {
	Subject
	// Shard names the server at this moment. It must not block, nor call the engine.
	Shard() string
}

// The two ways in which a lease is lost.
var (
	ErrExpired = errors.New("its time ran out before Redis confirmed more of it")
	ErrGone    = errors.New("its owner is no longer listed in Redis: it was forced, it expired, or the server lost it")
)

// Term returns what is known of the lease, and the latest plan for it.
func (it *Item) Term() Term {
	it.mu.Lock()
	defer it.mu.Unlock()
	return it.term
}

// confirm notes a term. The trust never falls, in whatever order the replies are read. The plan
// is the latest one. The engine's mutex is held, so that no older plan replaces a newer one.
func (it *Item) confirm(term Term) {
	it.mu.Lock()
	defer it.mu.Unlock()
	term.Trusted = later(term.trusted(), it.term.trusted())
	term.Kept = later(term.kept(), it.term.kept())
	term.Asked = later(term.Asked, it.term.Asked)
	it.term = term
}

// byNext is a heap of items, the one with the earliest event first.
type byNext []*Item

func (h byNext) Len() int           { return len(h) }
func (h byNext) Less(i, j int) bool { return h[i].next.Before(h[j].next) }

func (h byNext) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *byNext) Push(x any) {
	it := x.(*Item)
	*h = append(*h, it)
	it.place = len(*h)
}

func (h *byNext) Pop() any {
	last := len(*h) - 1
	it := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	it.place = 0
	return it
}
