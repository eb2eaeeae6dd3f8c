package product_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
)

// What is going on in a run, and what must be true of it all the time.

// books are the acquisitions and holds of a run, and what they have left.
type books struct {
	setting
	limit  context.Context    // of the run: whoever waits for that waits for ever
	cancel context.CancelFunc // ends the run: one violation is enough

	mu      sync.Mutex
	failure error
	calls   map[*call]bool // acquisitions under way, and holds
	stays   []stay
	tokens  map[string]int64
	forced  map[string]time.Time // until when a request of an operator may arrive
	work    time.Duration        // of all calls and holds
	done    int                  // calls
	recalls map[string]bool      // owners, by an operator
	inUse   map[string]int       // permits without an owner
	counts  [2]int               // of latches
	free    map[string]time.Time // when nobody was to have a lock any more
	bases   map[string]time.Time // when an owner got its first hold
}

// call is one acquisition, and its hold.
type call struct {
	*visit
	process *process
	owner   any // nil without one
	outer   *call
	since   time.Time
	limited context.Context
	hold    *redlatch.Hold // nil until it is granted
	got     time.Time      // when it was
	last    func()         // ends the inner hold that is to end after this one
	tainted atomic.Bool    // an operator may have freed the lock
	token   int64          // the highest one of the lock when it began
}

// stay is a time in which Redis may keep a lock for nobody, or has to.
type stay struct {
	name   string
	until  time.Time
	by     *call
	strict bool // it has to
	kept   bool // it may be longer than the call
}

// permits are as many as there are.
const permits = 2

// fail takes note of a violation.
func (b *books) fail(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed(format, args...)
}

func (b *books) failed(format string, args ...any) {
	if b.failure == nil {
		b.failure = fmt.Errorf(format, args...)
		b.cancel()
	}
}

// began takes note of an acquisition that begins.
func (b *books) began(p *process, v *visit, owner any, outer *call) *call {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := &call{visit: v, process: p, owner: owner, outer: outer, since: time.Now()}
	for _, part := range v.parts() {
		one.token = max(one.token, b.tokens[part.name])
		if time.Now().Before(b.forced[part.name]) {
			one.tainted.Store(true)
		}
	}
	b.calls[one] = true
	b.done++
	return one
}

// ended takes note of the end of an acquisition. Redis may keep the lock until a moment.
func (b *books) ended(one *call, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.calls, one)
	b.work += time.Since(one.since)
	for _, part := range one.parts() {
		b.stays = append(b.stays, stay{part.name, until, one, false, until.After(time.Now())})
		if one.hold != nil || one.has(replicas) || until.After(time.Now()) {
			b.free[part.name] = later(b.free[part.name], later(until, time.Now()))
		}
	}
}

// granted checks a hold beside all others.
func (b *books) granted(one *call, h *redlatch.Hold) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waited(one)
	one.hold, one.got = h, time.Now()
	b.exclusion(one)
	b.inTime(one)
	b.leastTime(one)
	first := one.parts()[0].name
	if d, given := one.option(minHold); given {
		b.free[first] = later(b.free[first], time.Now().Add(d)) // an heir keeps that, too
		b.stays = append(b.stays, stay{first, time.Now().Add(d), one, true, true})
	}
	if one.has(fencing) && one.What < multi {
		if h.Token() <= 0 || h.Token() <= one.token && !b.reenters(one) {
			b.failed("the token is %d, not above %d: %v", h.Token(), one.token, one.visit)
		}
		b.tokens[first] = max(b.tokens[first], h.Token())
	}
	for other := range b.calls {
		same := other != one && other.hold != nil && one.owner != nil && other.owner == one.owner && other.What == one.What && other.Name == one.Name
		if same && one.owner != one.process && one.What <= read && other.hold.Valid() && other.hold.Owner() != h.Owner() {
			b.failed("an owner has two names, %v and %v: %v", other.hold, h, one.visit)
		}
	}
}

// leastTime fails if a lock was granted that is to stay for somebody else's least time.
func (b *books) leastTime(one *call) {
	if !one.hold.Valid() || one.tainted.Load() {
		return
	}
	now := time.Now().Add(b.late() + 2*time.Millisecond)
	for _, s := range b.stays {
		if s.strict && !s.by.tainted.Load() && now.Before(s.until) && slices.Contains(one.parts(), part{s.name, mutex}) && !b.together(s.by, one) {
			b.failed("%v entered %v before the least time of %v is over", one.visit, time.Until(s.until), s.by.visit)
		}
	}
}

// late is for how long a reply may be under way.
func (b *books) late() time.Duration {
	if b.Weather == calm && !b.unit.real {
		return 0
	}
	return 2*b.unit.timeout + b.unit.slack
}

// together says that the owner of a hold that has ended had the lock beyond that, or may have had.
func (b *books) together(ended, one *call) bool {
	return ended == one.outer || ended.owner == one.owner && b.reenters(one)
}

// reenters says that the owner has another hold of the lock, or may have.
func (b *books) reenters(one *call) bool {
	return one.owner != nil && (one.outer != nil || one.owner == any(one.process))
}

// exclusion fails if a hold is valid beside one that it excludes. Who is asked later is valid later: both were
// held when the first was asked.
func (b *books) exclusion(one *call) {
	for _, part := range one.parts() {
		beside := 0
		for other := range b.calls {
			if other == one || other.hold == nil || other.tainted.Load() || one.tainted.Load() || one.owner != nil && other.owner == one.owner {
				continue
			}
			for _, its := range other.parts() {
				if its.name != part.name || its.how == read && part.how == read || !other.hold.Valid() || !one.hold.Valid() {
					continue
				}
				if part.how != permit {
					b.failed("%v is held beside\n\t%v, as %v and %v", one.visit, other.visit, one.hold, other.hold)
				} else if beside++; beside >= permits {
					b.failed("%d of %d permits are held", beside+1, permits)
				}
			}
		}
	}
}

// again checks a hold once more.
func (b *books) again(one *call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.exclusion(one)
}

// forces taints all who have a lock or ask for it, until a request of an operator may not arrive any more.
func (b *books) forces(name string, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one := range b.calls {
		if slices.ContainsFunc(one.parts(), func(p part) bool { return p.name == name }) {
			one.tainted.Store(true)
		}
	}
	for i := range b.stays {
		b.stays[i].strict = b.stays[i].strict && b.stays[i].name != name
	}
	b.forced[name] = until
}

// taken takes note of permits without an owner that are taken, or about to be put back.
func (b *books) taken(name string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.inUse[name] += n; b.inUse[name] > permits {
		b.failed("%d of %d permits of %s are taken", b.inUse[name], permits, name)
	}
}

// counted takes note that somebody is about to count a latch down.
func (b *books) counted(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[n]++
}

// opened checks a latch that is open.
func (b *books) opened(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.counts[n] < permits {
		b.failed("the latch is open after %d of %d", b.counts[n], permits)
	}
}
