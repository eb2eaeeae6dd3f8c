package histories

import (
	"context"
	"errors"

	"github.com/redlatch/redlatch"
)

// Sharer is one owner of permits that nobody owns in Redis.
type Sharer struct {
	recorder  *Recorder
	semaphore *redlatch.Semaphore
	client    int
	wires     []*Wire
	owner     int
	n         int // how many it has
}

// Sharer returns a new owner without permits. Its client has these wires.
func (r *Recorder) Sharer(client int, wires []*Wire, s *redlatch.Semaphore) *Sharer {
	return &Sharer{recorder: r, semaphore: s, client: client, wires: wires, owner: int(r.owners.Add(1))}
}

// Try asks once for n permits.
func (s *Sharer) Try(ctx context.Context, n int) {
	s.ask(ctx, n, func() (bool, error) { return s.semaphore.TryAcquire(ctx, n) })
}

// Wait waits for n permits, until the deadline of ctx.
func (s *Sharer) Wait(ctx context.Context, n int) {
	s.ask(ctx, n, func() (bool, error) { err := s.semaphore.Acquire(ctx, n); return err == nil, err })
}

// ask records an acquisition. A request without an answer may take permits at any later moment, until it is
// cancelled. A request for another waiter of the client may take them as well. If it was under way when the time was
// up, they are put back. All other calls that fail take nothing.
func (s *Sharer) ask(ctx context.Context, n int, acquire func() (bool, error)) {
	before := unheard(s.wires)
	o := s.operation(Acquire, n)
	taken, err := acquire()
	clear := unheard(s.wires) == before
	until, _ := ctx.Deadline()
	switch {
	case taken:
		s.n = n
		s.end(o, true)
	case clear && err == nil:
		o.Refused = true
		s.end(o, true)
	case !clear || !idle(s.wires, until):
		s.end(o, false)
	}
	if errors.Is(err, redlatch.ErrUnknownOutcome) {
		s.recorder.doubt(s.semaphore.Name(), -n)
	}
}

// Drain takes whatever is available.
func (s *Sharer) Drain(ctx context.Context) {
	o := s.operation(Drain, 0)
	n, err := s.semaphore.Drain(ctx)
	o.N, s.n = n, n
	s.end(o, err == nil)
	if errors.Is(err, redlatch.ErrUnknownOutcome) {
		s.recorder.doubt(s.semaphore.Name(), -maxHolders)
	}
}

// Release puts back what it has.
func (s *Sharer) Release(ctx context.Context) {
	o := s.operation(Release, s.n)
	err := s.semaphore.Release(ctx, s.n)
	s.end(o, err == nil)
	if err != nil {
		s.recorder.doubt(s.semaphore.Name(), -s.n)
	}
}

func (s *Sharer) operation(verb Verb, n int) Operation {
	return Operation{Client: s.client, Verb: verb, Owner: s.owner, N: n, Call: s.recorder.now()}
}

// end records a call that has returned. It may happen at any later moment if it was not carried out for
// certain.
func (s *Sharer) end(o Operation, done bool) {
	if o.Return = s.recorder.now(); !done {
		o.Unknown, o.Return = true, o.Call
	}
	s.recorder.add(o, []string{s.semaphore.Name()})
}

// Resize changes by n how many permits a semaphore has.
func (r *Recorder) Resize(ctx context.Context, client int, name string, n int, add func(context.Context, int) error) {
	o := Operation{Client: client, Verb: Resize, N: n, Call: r.now()}
	err := add(ctx, n)
	if o.Return = r.now(); err != nil {
		o.Unknown, o.Return = true, o.Call
		r.doubt(name, n)
	}
	r.add(o, []string{name})
}

// doubt notes that there may be so many permits more, or fewer, than there should be.
func (r *Recorder) doubt(name string, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	bounds := r.doubts[name]
	r.doubts[name] = [2]int{bounds[0] + min(n, 0), bounds[1] + max(n, 0)}
}

// Left is how many permits a semaphore may have when nobody has any: at least, and at most.
func (r *Recorder) Left(name string) (least, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.operations {
		if o.Lock == name && o.Verb == Resize && !o.Unknown {
			least, most = least+o.N, most+o.N
		}
	}
	return least + r.doubts[name][0], most + r.doubts[name][1]
}

// LookFor records how many permits are available, if the server says it.
func (r *Recorder) LookFor(ctx context.Context, client int, name string, available func(context.Context) (int, error)) {
	o := Operation{Client: client, Verb: Look, Call: r.now()}
	n, err := available(ctx)
	if o.Return = r.now(); err != nil {
		return
	}
	o.Seen = Seen{Available: n}
	r.add(o, []string{name})
}
