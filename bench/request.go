package main

import "context"

// requestContestant is another contestant, used as a server uses it: below the
// context of a request, which can end. It never does here.
type requestContestant struct {
	contestant
}

// Worker returns a worker with a request of its own.
func (c *requestContestant) Worker(name string) worker {
	request, cancel := context.WithCancel(context.Background())
	return &requestWorker{worker: c.contestant.Worker(name), request: request, cancel: cancel}
}

type requestWorker struct {
	worker  worker
	request context.Context
	cancel  context.CancelFunc // never called; the context ends with its worker
}

// Lock waits on behalf of the request.
func (w *requestWorker) Lock(context.Context) error { return w.worker.Lock(w.request) }

// Unlock gives back on behalf of the request.
func (w *requestWorker) Unlock(context.Context) error { return w.worker.Unlock(w.request) }
