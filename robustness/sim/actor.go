package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// actor is a goroutine of a process that takes locks, one operation after another. It waits for the
// timeline between two steps.
type actor struct {
	process *process
	name    string
	ops     []op
	now     *op // under way
	passed  int // operations that ended
	granted int // of these, with a hold
	done    bool
}

// op is one operation: take a lock, keep it, give it back.
type op struct {
	Think    time.Duration // before it
	Lock     int           // which one
	Read     bool          // its read side
	Wait     time.Duration // 0: until it is granted; -1: not at all
	Lease    time.Duration // 0: renewed
	Limit    time.Duration // WithMaxHold, 0: none
	Cohort   time.Duration // WithCohort, 0: none
	Replicas int           // WithReplicas, 0: none
	Keep     time.Duration // how long it holds
	Cancel   time.Duration // when its context ends, 0: never
	Again    int           // how often it re-enters
	Reads    bool          // the re-entries are on the read side
	Leave    leaving
}

// leaving is how a hold ends.
type leaving int

const (
	unlock      leaving = iota
	unlockInner         // the outer hold first
	detach
)

// options are those of each hold.
func (o *op) options() (opts []redlatch.LockOption) {
	switch {
	case o.Wait < 0:
		opts = append(opts, redlatch.WithWait(0))
	case o.Wait > 0:
		opts = append(opts, redlatch.WithWait(o.Wait))
	}
	if o.Lease > 0 {
		opts = append(opts, redlatch.WithLease(o.Lease))
	}
	if o.Limit > 0 {
		opts = append(opts, redlatch.WithMaxHold(o.Limit))
	}
	if o.Cohort > 0 {
		opts = append(opts, redlatch.WithCohort(o.Cohort))
	}
	return opts
}

func (a *actor) run() {
	for len(a.ops) > 0 && !a.process.dead.Load() {
		a.now, a.ops = &a.ops[0], a.ops[1:]
		if a.rest(a.now.Think) {
			a.act(a.now)
			a.passed++
		}
	}
	a.process.say(a.name+" is done", func() { a.done = true })
}

// rest waits for the timeline. It reports false if the process has died.
func (a *actor) rest(d time.Duration) bool { return a.process.rest(a.name, d) }

func (p *process) rest(who string, d time.Duration) bool {
	wake := make(chan struct{})
	p.say(who+" rests", func() {
		p.after(d, who+" goes on", func() {
			if p.dead.Load() {
				close(wake)
				return
			}
			p.when(func() { close(wake) })
		})
	})
	select {
	case <-wake:
	case <-p.ctx.Done():
	}
	return !p.dead.Load()
}

func (a *actor) act(o *op) {
	p := a.process
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	if o.Cancel > 0 {
		p.say(a.name+" is to cancel", func() {
			p.after(o.Cancel, a.name+" cancels", func() { p.when(cancel) })
		})
	}
	spec := p.world.plan.Locks[o.Lock]
	if o.Again > 0 {
		ctx = p.clients[0].WithOwner(ctx)
	}
	outer := a.take(ctx, spec, o.Read, o)
	if outer == nil {
		return
	}
	a.granted++
	all := []*belief{outer}
	for range o.Again {
		if !a.rest(o.Keep / time.Duration(o.Again+1)) {
			return
		}
		if inner := a.take(ctx, spec, o.Reads || o.Read, o); inner != nil {
			all = append(all, inner)
		}
	}
	if o.Leave == unlock {
		slices.Reverse(all)
	}
	for _, b := range all {
		a.leave(b, o, o.Keep/time.Duration(len(all)))
	}
}

// take takes a lock once.
func (a *actor) take(ctx context.Context, spec LockSpec, read bool, o *op) *belief {
	w := a.process.world
	b := &belief{actor: a, lock: spec, read: read, asked: time.Now(), renewed: o.Lease == 0 && o.Limit == 0, lease: cmp.Or(o.Lease, w.plan.Lease), patient: o.Wait <= 0 && o.Cancel == 0, turn: o.Cohort > 0}
	l := spec.of(a.process, read)
	opts := o.options()
	if o.Replicas > 0 {
		b.replicas = o.Replicas
		opts = append(opts, redlatch.WithReplicas(o.Replicas, w.plan.confirmation()))
	}
	if spec.Kind == Fenced {
		opts = append(opts, redlatch.WithFencing())
	}
	a.process.say(a.name+" locks "+spec.side(read), func() {
		if !b.over { // postings of one instant are sorted: its end may come first
			w.asking[a] = b
		}
	})
	h, err := l.Lock(ctx, opts...)
	if err != nil {
		a.process.say(fmt.Sprintf("%s does not get %s: %s", a.name, spec.side(read), kindOf(err)), func() { w.refused(a, b, err) })
		return nil
	}
	b.hold, b.done = h, h.Done()
	a.process.say(fmt.Sprintf("%s has %s as %s, token %d", a.name, spec.side(read), h.Owner(), h.Token()), func() { w.granted(b) })
	return b
}

// leave keeps a hold for a while, and ends it. After a death it does nothing.
func (a *actor) leave(b *belief, o *op, keep time.Duration) {
	if !a.rest(keep / 2) {
		return
	}
	valid := b.hold.Valid()
	a.process.say(fmt.Sprintf("%s writes: %v", a.name, valid), func() {})
	if !a.rest(keep / 2) {
		return
	}
	a.process.say(a.name+" leaves "+b.lock.side(b.read), func() {
		b.ended = true
		if o.Leave == detach {
			b.forget()
		}
	})
	if o.Leave == detach {
		b.hold.Detach()
		return
	}
	err := b.hold.Unlock(context.Background())
	a.process.say(fmt.Sprintf("%s has left %s: %s", a.name, b.lock.side(b.read), kindOf(err)), func() {
		if err != nil {
			b.forget()
			return
		}
		for _, h := range singles(b.hold) {
			delete(a.process.world.unannounced, h.Name())
		}
	})
}

// kindOf is what an error is, without its words.
func kindOf(err error) string {
	for _, one := range []error{
		redlatch.ErrNotAcquired, redlatch.ErrLost, redlatch.ErrReleased, redlatch.ErrReentry, redlatch.ErrUpgrade,
		redlatch.ErrUnknownOutcome, redlatch.ErrClosed, redlatch.ErrWrongType, redlatch.ErrUnsupported, redlatch.ErrNotReplicated,
		context.Canceled, context.DeadlineExceeded, errDown, errCut,
	} {
		if errors.Is(err, one) {
			return one.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return "well"
}
