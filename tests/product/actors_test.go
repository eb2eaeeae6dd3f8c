package product_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

// What the actors do.

// act carries out a plan, and lets all of it end.
func (w *world) act(plan []*visit) {
	for i := range w.Procs {
		w.procs[i].Store(w.begin())
	}
	for i := range w.Names {
		for _, counter := range []what{permit, semaphore, latch} {
			w.do(w.servers[0], "SET", counter.name(i), fmt.Sprint(permits))
		}
	}
	byActor := make(map[int][]*visit)
	for _, v := range plan {
		byActor[v.Actor] = append(byActor[v.Actor], v)
	}
	var actors sync.WaitGroup
	for actor, visits := range byActor {
		actors.Go(func() {
			for _, v := range visits {
				if w.ctx.Err() != nil {
					return
				}
				time.Sleep(v.Rest)
				w.visit(w.procs[actor%w.Procs].Load(), v)
			}
		})
	}
	actors.Wait()
	close(w.over)
	for i := range w.Procs {
		w.end(w.procs[i].Load(), i%2 == 0)
	}
	w.retired.Wait()
}

// visit does what an actor does next.
func (w *world) visit(p *process, v *visit) {
	switch v.What {
	case shutdown, closing, dying:
		w.replace(v.Actor, v.What, w.begin())
	case force:
		w.forceOpen(p, v)
	case foreign:
		w.redisson(v)
	case braced:
		w.brace(p, v)
	case listing:
		w.list(p, v)
	case asking:
		w.ask(p, v)
	case goesBack:
		w.goBack(v)
	case semaphore:
		w.take(p, v)
	case latch:
		w.countDown(p, v)
	default:
		w.acquire(p, v, nil, nil)
	}
}

// limited is a context that ends when the visit has it.
func (v *visit) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if v.Limit > 0 {
		return context.WithTimeout(ctx, v.Limit)
	}
	return ctx, func() {}
}

// acquire takes a lock, holds it and ends it. An inner one that ends last leaves its end to the caller.
func (w *world) acquire(p *process, v *visit, outer *call, end chan<- func()) {
	ctx, owner := p.owner(v)
	if v.Below {
		ctx = outer.hold.Context()
	}
	one := w.began(p, v, owner, outer)
	p.count(1)
	defer p.count(-1)
	var cancel context.CancelFunc
	one.limited, cancel = v.limited(ctx)
	defer cancel()
	var opts []redlatch.LockOption
	for _, o := range v.Opts {
		opts = append(opts, options[o.Kind].of(o.D))
	}
	lock := p.lock(v).Lock
	if v.Try {
		lock = p.lock(v).TryLock
	}
	rested := p.flight.rested()
	h, err := lock(one.limited, opts...)
	w.prompt(one, p.flight.rested()-rested)
	w.judge(one, err, time.Since(one.since))
	if err != nil {
		w.gaveUp(one)
		w.ended(one, w.afterFailure(one))
		w.audit(one)
		return
	}
	w.granted(one, h)
	w.hold(one)
	if end == nil {
		w.release(one)
		return
	}
	p.count(1)
	end <- func() { defer p.count(-1); w.release(one) }
}

// hold is what happens while a lock is held, until it is to end.
func (w *world) hold(one *call) {
	if v := one.Inner; v != nil {
		if v.Last {
			end := make(chan func(), 1)
			w.acquire(one.process, v, one, end)
			select {
			case one.last = <-end:
			default: // it was not granted
			}
		} else {
			for range max(v.Times, 1) {
				w.acquire(one.process, v, one, nil)
			}
		}
	}
	work, alone := one.Work, one.End == "wait" && one.owner == nil // with an owner, another hold may keep it
	if alone {
		work = min(one.longest(w.Cfg.LeaseTime), 2*w.unit.extend) + w.late() + w.unit.slack
	}
	look := work * 3 / 4
	if d, limited := one.option(maxHold); limited && one.End == "wait" {
		work, look = max(work, d+w.unit.slack), d*3/4
	}
	select {
	case <-one.hold.Done():
	case <-time.After(look):
		w.lasts(one)
	case <-w.ctx.Done():
	}
	select {
	case <-one.hold.Done():
	case <-time.After(work - look):
		if alone && one.Extend == 0 {
			w.fail("after %v a hold has not ended: %v", work, one.visit)
		}
	case <-w.ctx.Done():
	}
	if one.Extend > 0 && !one.Beside {
		w.extend(one)
	}
	w.told(one)
	w.recalled(one)
	w.again(one)
}

func (w *world) extend(one *call) {
	fixed := one.What < multi && !one.has(cohort)
	err := one.hold.Extend(w.ctx, one.Extend)
	_, refused := errors.AsType[*redlatch.ConfigError](err)
	switch {
	case refused && fixed && one.owner == nil:
		w.fail("Extend: %w: %v", err, one.visit)
	case err == nil && !fixed:
		w.fail("what cannot be extended was: %v", one.visit)
	case err == nil, refused, errors.Is(err, redlatch.ErrLost), errors.Is(err, redlatch.ErrReleased), w.trouble(one.process):
	case errors.Is(err, redlatch.ErrClosed) && one.process.stopping.Load():
	case errors.Is(err, redlatch.ErrUnknownOutcome) && w.Weather != calm:
	default:
		w.fail("Extend: %w: %v", err, one.visit)
	}
}

// release ends a hold, and then the inner one that was to end last.
func (w *world) release(one *call) {
	var beside sync.WaitGroup
	if one.Beside {
		beside.Go(func() { w.extend(one) })
		time.Sleep(one.Work % 2 * time.Microsecond) // its request may be under way
	}
	if one.Stops {
		next := w.begin() // which takes longer than Unlock
		if stop := func() { w.replace(one.Actor, shutdown, next) }; one.Work%2 == 0 {
			beside.Go(stop)
		} else {
			defer stop() // when the next one has been woken, and does not run yet
		}
	}
	switch one.End {
	case "detach":
		until := w.afterDetach(one)
		one.hold.Detach()
		w.ended(one, until)
	case "ticket":
		w.hand(one)
	default:
		w.unlock(one)
	}
	beside.Wait()
	w.audit(one)
	if one.last != nil {
		one.last()
	}
}

func (w *world) unlock(one *call) {
	p, h := one.process, one.hold
	began, before := time.Now(), h.Err()
	err := h.Unlock(w.ctx)
	if took := time.Since(began); took > w.patience(one)+2*w.unit.timeout && !p.stopping.Load() {
		w.fail("Unlock took %v: %v", took, one.visit)
	}
	switch {
	case err == nil && !errors.Is(h.Err(), redlatch.ErrReleased):
		w.fail("after Unlock: %w", h.Err())
	case errors.Is(err, redlatch.ErrLost) && !w.lossIsDue(one) && !p.stopping.Load():
		w.fail("%v was lost: %w (before: %v)", one.visit, err, before)
	case err == nil, errors.Is(err, redlatch.ErrLost), w.trouble(p):
	case errors.Is(err, redlatch.ErrUnknownOutcome) && w.Weather != calm:
	default:
		w.fail("Unlock: %w: %v", err, one.visit)
	}
	w.ended(one, w.afterUnlock(one, err))
}

// take takes a permit that has no owner, and puts it back.
func (w *world) take(p *process, v *visit) {
	ctx, cancel := context.WithTimeout(w.ctx, w.unit.long) // permits of unknown outcome may be lost
	defer cancel()
	limited, cancel := v.limited(ctx)
	defer cancel()
	p.count(1)
	defer p.count(-1)
	name, began, bound := semaphore.name(v.Name), time.Now(), w.unit.long
	s, got, err := p.clients[0].Semaphore(name), true, error(nil)
	if v.Try {
		bound = 0
		got, err = s.TryAcquire(limited, 1)
	} else {
		err = s.Acquire(limited, 1)
	}
	w.plain(p, v, err, time.Since(began)-bound, redlatch.ErrNotAcquired, limited.Err())
	if err != nil || !got {
		return
	}
	w.taken(name, 1)
	time.Sleep(v.Work)
	w.taken(name, -1)
	began = time.Now()
	if err := s.Release(w.ctx, 1); errors.Is(err, redlatch.ErrClosed) { // Close does not release
		w.do(w.servers[0], "INCRBY", name, "1")
	} else {
		w.plain(p, v, err, time.Since(began))
	}
}

// countDown counts a latch down, or waits for it.
func (w *world) countDown(p *process, v *visit) {
	began, l := time.Now(), p.clients[0].Latch(latch.name(v.Name))
	if v.Try {
		w.counted(v.Name)
		w.plain(p, v, l.CountDown(w.ctx), time.Since(began))
		return
	}
	limited, cancel := context.WithTimeout(w.ctx, v.Work+time.Millisecond)
	defer cancel()
	err := l.Wait(limited)
	w.plain(p, v, err, time.Since(began)-v.Work, redlatch.ErrNotAcquired, limited.Err())
	if err == nil {
		w.opened(v.Name)
	}
}
