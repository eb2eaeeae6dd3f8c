package product_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// What happens beside the holds: processes end, operators act, Java comes.

// replace ends a process, beside its actors, and puts another one in its place.
func (w *world) replace(actor int, event what, next *process) {
	old := w.procs[actor%w.Procs].Swap(next)
	if event == dying {
		old.dead.Store(true)
	}
	w.retired.Go(func() { w.end(old, event == shutdown) })
}

// end ends a process, which takes no longer than what it holds.
func (w *world) end(p *process, gently bool) {
	p.stopping.Store(true)
	ends, began := (*redlatch.Client).Close, time.Now()
	if gently {
		ends = (*redlatch.Client).Shutdown
	}
	stop := func(c *redlatch.Client) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 20*w.unit.long)
		defer cancel()
		if err := ends(c, ctx); err != nil && !w.trouble(p) {
			w.fail("the end of a process: %w", err)
		}
	}
	var all sync.WaitGroup
	for _, c := range p.clients[1:] {
		all.Go(func() { stop(c) })
	}
	stop(p.clients[0]) // before whoever was woken just now
	all.Wait()
	for _, proxy := range p.proxies {
		proxy.Cut()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	most := w.unit.slack
	if w.Weather != calm || w.unit.real {
		most += 4 * w.unit.timeout
	}
	switch {
	case p.dead.Load():
	case !gently && time.Since(began) > most:
		w.fail("Close took %v", time.Since(began))
	case gently && p.busy == 0 && time.Since(later(began, p.last)) > most:
		w.fail("Shutdown ended %v after the last hold", time.Since(later(began, p.last)))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// forceOpen is an operator who frees a lock.
func (w *world) forceOpen(p *process, v *visit) {
	c, began := p.clients[0], time.Now()
	kind := []what{mutex, fair, write}[int(v.Work)%3]
	name := kind.name(v.Name)
	frees := map[what]func(context.Context) (bool, error){
		mutex: c.Mutex(name).ForceUnlock, fair: c.FairMutex(name).ForceUnlock, write: c.RWMutex(name).ForceUnlock,
	}[kind]
	w.forces(name, began.Add(time.Hour))
	_, err := frees(w.ctx)
	w.forces(name, time.Now().Add(2*w.unit.timeout))
	w.plain(p, v, err, time.Since(began))
}

// list is an operator who reads the state of two locks.
func (w *world) list(p *process, v *visit) {
	ctx, cancel := v.limited(w.ctx)
	defer cancel()
	c, began := p.clients[0], time.Now()
	_, err := c.FairMutex(fair.name(v.Name)).Status(ctx)
	_, also := c.RWMutex(read.name(v.Name)).Status(ctx)
	for _, err := range []error{err, also} {
		w.plain(p, v, err, time.Since(began), ctx.Err())
	}
}

// plain checks the outcome of a call that is about nobody's hold, and how long it took.
func (w *world) plain(p *process, v *visit, err error, took time.Duration, also ...error) {
	if p.stopping.Load() {
		also = append(also, redlatch.ErrClosed)
	}
	if w.Weather != calm {
		also = append(also, redlatch.ErrUnknownOutcome, context.DeadlineExceeded)
	}
	allowed := w.trouble(p)
	for _, may := range also {
		allowed = allowed || errors.Is(err, may)
	}
	if err != nil && !allowed {
		w.fail("%v: %w", v, err)
	}
	if took > 6*w.unit.timeout+w.unit.slack {
		w.fail("took %v beside what it may wait: %v", took, v)
	}
}

const (
	java        = "5b1cfae6-6e3f-4b6e-9d5f-1b2c3d4e5f60:1" // an owner of Redisson
	longest     = 185542587100800                          // 5,880 years, as Redisson makes of the longest lease in days
	longestFake = 9223372036853                            // 292 years: the embedded server knows no longer time
)

// redisson has a lock of a Java thread for a while, with the longest lease.
func (w *world) redisson(v *visit) {
	const script = `if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1`
	name, first := []what{mutex, fair}[int(v.Work)%2].name(v.Name), w.servers[0]
	lease := longest
	if !w.unit.real {
		lease = longestFake
	}
	r := w.do(first, "EVAL", script, "1", name, java, fmt.Sprint(lease))
	if r.Int != 1 {
		return
	}
	w.keeps(name, time.Now().Add(w.unit.long))
	select {
	case <-time.After(v.Work):
	case <-w.ctx.Done():
	}
	w.do(first, "HDEL", name, java) // which frees the lock
	channel := "redisson_lock__channel:{" + name + "}"
	if next := w.do(first, "LINDEX", "redisson_lock_queue:{"+name+"}", "0"); next.Str != "" {
		channel += ":" + next.Str
	}
	if v.Try { // the message is lost, and the next one asks at its poll cap
		w.keeps(name, time.Now().Add(w.unit.lease))
		return
	}
	w.do(first, "PUBLISH", channel, "0")
	w.keeps(name, time.Now())
}

// goBack has the server's clock go back by an hour, as a fair lock sees it: the times that it has are ahead.
func (w *world) goBack(v *visit) {
	const script = `for _, key in ipairs(KEYS) do local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
for i = 1, #all, 2 do redis.call('ZADD', key, all[i + 1] + 3600000, all[i]) end end`
	name := fair.name(v.Name)
	w.do(w.servers[0], "EVAL", script, "2", protocol.FairKeepAlives(name), "redisson_lock_timeout:{"+name+"}")
}

// brace asks for locks that would share keys with others.
func (w *world) brace(p *process, v *visit) {
	c := p.clients[0]
	for _, l := range []redlatch.Lock{c.FairMutex("{fair0}"), c.PermitSemaphore("{permit0}").Locker()} {
		h, err := l.TryLock(w.ctx)
		if err == nil {
			_ = h.Unlock(w.ctx)
		}
		if !errors.Is(err, redlatch.ErrInvalidName) && !errors.Is(err, redlatch.ErrClosed) {
			w.fail("%s: %v, want ErrInvalidName", l.Name(), err)
		}
	}
}
