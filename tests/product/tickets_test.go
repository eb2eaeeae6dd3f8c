package product_test

import (
	"errors"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// Holds that go from process to process by a ticket.

// hand has two processes attach the ticket of a hold at once. One of them has it then, unless it could be lost.
func (w *world) hand(one *call) {
	until, deadline := w.afterDetach(one), one.hold.Deadline()
	ticket, err := one.hold.Ticket()
	_, refused := errors.AsType[*redlatch.ConfigError](err)
	may := one.What >= multi || one.has(cohort) || one.has(minHold) || one.owner != nil // be refused
	switch {
	case err == nil && one.What >= multi, refused && !may:
		w.fail("Ticket: %v: %v", err, one.visit)
	case err != nil:
		w.unlock(one)
		return
	}
	var heirs [2]*call
	var holds [2]*redlatch.Hold
	var errs [2]error
	var both sync.WaitGroup
	for i := range heirs {
		p := w.procs[(one.Actor+i)%w.Procs].Load()
		heir := w.began(p, &visit{Actor: one.Actor, What: one.What, Name: one.Name, Work: min(one.Work, w.unit.stay)}, nil, nil)
		heirs[i] = heir
		p.count(1)
		defer p.count(-1)
		both.Go(func() { holds[i], errs[i] = w.attach(heir, ticket, w.Procs == 1) })
	}
	w.ended(one, until)
	both.Wait()
	certain := time.Now().Before(deadline) && !one.tainted.Load() && w.Weather < moving && !w.unit.real
	for i, heir := range heirs {
		certain = certain && errors.Is(errs[i], redlatch.ErrLost) && !heir.tainted.Load() && !w.trouble(heir.process)
	}
	if certain {
		w.fail("nobody has the hold of a ticket: %v", one.visit)
	}
	if errs[0] == nil && errs[1] == nil {
		w.fail("two have the hold of one ticket: %v", one.visit)
	}
	for i, heir := range heirs {
		if errs[i] != nil {
			w.ended(heir, w.afterFailure(heir))
			continue
		}
		if was, is := one.hold.Token(), holds[i].Token(); was != is {
			w.fail("the token was %d, is %d: %v", was, is, one.visit)
		}
		w.granted(heir, holds[i])
		w.hold(heir)
		w.unlock(heir)
	}
}

// attach attaches a ticket, and checks what that comes to. A process does not attach beside what it has.
func (w *world) attach(heir *call, ticket string, beside bool) (*redlatch.Hold, error) {
	began := time.Now()
	also := []error{redlatch.ErrLost}
	if beside || heir.tainted.Load() {
		also = append(also, redlatch.ErrNotAcquired)
	}
	h, err := heir.process.clients[0].Attach(w.ctx, ticket)
	if !heir.tainted.Load() {
		w.plain(heir.process, heir.visit, err, time.Since(began), also...)
	}
	return h, err
}
