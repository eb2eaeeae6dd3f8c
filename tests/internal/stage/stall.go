package stage

import (
	"context"
	"sync"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
)

// StallRenewals holds up the renewal loop of the stage's client until end is called, as a pause of the
// process would. The rest of the client goes on, and can be watched meanwhile.
//
// The loop ends a hold whose lease is over, which cancels the hold's context. Package context then tells
// the parent of that context, and this parent does not return.
func (s *Stage) StallRenewals() (end func()) {
	s.Helper()
	ctx := &stalling{Context: context.Background(), done: make(chan struct{})}
	h, err := s.Client.Mutex("stalls the renewals").Lock(ctx, redlatch.WithLease(10*time.Millisecond))
	if err != nil {
		s.Fatal(err)
	}
	resume := make(chan struct{})
	ctx.resume = resume
	_ = h.Context()
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return sync.OnceFunc(func() { close(resume) })
}

// stalling is a context that holds up whoever ends a child that it got when resume was there.
type stalling struct {
	context.Context
	done, resume chan struct{}
}

// Done makes package context ask for AfterFunc: it knows no other way to follow a context that is not its own.
func (c *stalling) Done() <-chan struct{} { return c.done }

// AfterFunc returns what package context calls when a child ends.
func (c *stalling) AfterFunc(func()) (stop func() bool) {
	resume := c.resume
	return func() bool {
		if resume != nil {
			<-resume
		}
		return true
	}
}
