package product_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
)

// What a call may come to, and when.

// trouble says whether replies may be lost, so that leases may end and outcomes be unknown.
func (b *books) trouble(p *process) bool { return b.Weather >= moving || b.unit.real || p.dead.Load() }

// judge checks the outcome of an acquisition: its name, and how long it took.
func (b *books) judge(one *call, err error, took time.Duration) {
	_, isConfig := errors.AsType[*redlatch.ConfigError](err)
	bound, waits := one.waits()
	most := bound + b.patience(one)
	switch {
	case one.refused() != isConfig:
		b.fail("refused: %v, want %v; %v: %v", isConfig, one.refused(), err, one.visit)
	case isConfig && took > b.unit.slack:
		b.fail("a refusal took %v: %v", took, one.visit)
	case (!waits || bound > 0) && took > most:
		b.fail("took %v, at most %v: %v: %v", took, most, one.visit, err)
	case b.limit.Err() != nil:
		b.fail("waits for ever: %v", one.visit)
	case err == nil || isConfig:
		return
	}
	known := false
	for target, may := range b.named(one) {
		is := errors.Is(err, target)
		known = known || is
		if is && !may {
			b.fail("%v: an error that it must not have: %w", one.visit, err)
		}
	}
	server, refused := errors.AsType[*driver.ServerError](err)
	if refused && b.Weather == moving && !b.unit.real && waits && (bound == 0 || took < bound) && one.limited.Err() == nil && one.What < multi {
		b.fail("%v: %v ended a wait that was not over", one.visit, server)
	}
	if !known && !b.trouble(one.process) {
		b.fail("%v: an error without a name: %w", one.visit, err)
	}
	b.owned(one, err)
}

// named are the errors that have names, and whether a call may come to each.
func (b *books) named(one *call) map[error]bool {
	p := one.process
	bound, waits := one.waits()
	shared := one.owner == any(p)
	rw := slices.ContainsFunc(one.parts(), func(p part) bool { return strings.HasPrefix(p.name, "rw") })
	return map[error]bool{
		redlatch.ErrNotAcquired:    !waits || bound > 0 || one.limited.Err() != nil,
		redlatch.ErrClosed:         p.stopping.Load(),
		redlatch.ErrUnknownOutcome: b.Weather != calm || b.unit.real || one.What == quorum,
		redlatch.ErrReentry:        one.Below && one.owner == nil,
		redlatch.ErrUpgrade:        rw && one.What != read && (one.outer != nil || shared),
		redlatch.ErrLost:           one.owner != nil && one.outer != nil || shared || one.Below || one.has(replicas) || one.What >= multi,
		redlatch.ErrNotReplicated:  one.has(replicas),
		redlatch.ErrReleased:       one.What == quorum || one.Below, // a Quorum has cancelled a member, or the outer hold has ended
		redlatch.ErrWrongType:      false,
		redlatch.ErrInvalidName:    false,
		redlatch.ErrUnsupported:    false,
		context.Canceled:           one.limited.Err() != nil || one.What == quorum,
		context.DeadlineExceeded:   b.Weather != calm || one.limited.Err() != nil || b.trouble(p),
	}
}

// owned checks what an owner is told that has the lock already.
func (b *books) owned(one *call, err error) {
	o := one.outer
	if o == nil || one.owner == nil || one.owner == any(one.process) || o.tainted.Load() || !o.hold.Valid() || one.process.stopping.Load() || b.Weather != calm || b.unit.real || one.limited.Err() != nil {
		return
	}
	same := o.What == one.What || o.What == write && one.What == read
	switch {
	case one.What == write && o.What == read && one.Name == o.Name && !errors.Is(err, redlatch.ErrUpgrade):
		b.fail("an owner that reads and wants to write: %w, want ErrUpgrade", err)
	case same && one.Name == o.Name && o.What <= read && !one.has(replicas):
		b.fail("an owner that has the lock does not get it again: %w: %v", err, one.visit)
	}
}

// patience is what a call may take beside its wait.
func (b *books) patience(one *call) time.Duration {
	d, _ := one.option(replicas)
	if b.Weather == calm && !b.unit.real && !one.process.dead.Load() {
		return d + b.unit.slack
	}
	return d + 5*b.unit.timeout + b.unit.slack
}

// prompt fails if a call that only tries has waited while no answer was awaited: for somebody else's hold.
func (b *books) prompt(one *call, rested time.Duration) {
	_, waits := one.waits()
	if delayed := b.Weather == queued || b.Weather == pooled; delayed && !b.unit.real && !waits && !one.has(replicas) && rested > time.Millisecond {
		b.fail("a call that only tries has waited for %v beside its answers: %v", rested, one.visit)
	}
}

// told fails if a hold has ended and its holder has not been told.
func (b *books) told(one *call) {
	h, slack := one.hold, b.unit.slack
	if b.Cfg.Protect {
		slack += 2 * b.unit.timeout
	}
	deadline := h.Deadline()
	select {
	case <-h.Done():
		return
	default:
	}
	if time.Since(deadline) > slack && h.Deadline().Equal(deadline) {
		b.fail("nobody was told that %v has ended %v ago", one.visit, time.Since(deadline))
	}
}

// lossIsDue says that a hold may be lost.
func (b *books) lossIsDue(one *call) bool {
	for ; one != nil; one = one.outer {
		if one.has(lease) || one.has(maxHold) || one.tainted.Load() || b.trouble(one.process) || one.owner == any(one.process) {
			return true
		}
	}
	return false
}

// afterFailure is until when an acquisition that failed may have left something: if its outcome is unknown, until
// its lease ends.
func (b *books) afterFailure(one *call) time.Time {
	if b.trouble(one.process) || one.What == quorum {
		return time.Now().Add(one.longest(b.Cfg.LeaseTime) + b.unit.timeout)
	}
	return time.Now()
}

// asked is the longest time for which Redis was asked to keep the lock of a call, or of one around it.
func (b *books) asked(one *call) (longest time.Duration) {
	if one.owner == any(one.process) { // its other actors may have
		longest = 2*b.unit.extend + b.unit.lease
	}
	for ; one != nil; one = one.outer {
		longest = max(longest, one.longest(b.Cfg.LeaseTime))
	}
	return longest
}

// afterDetach is until when Redis keeps a lock that is detached. No TTL falls below what another hold asked for.
func (b *books) afterDetach(one *call) time.Time {
	longest := b.asked(one)
	if b.Weather != calm || one.Beside || one.owner != nil || one.What == multi {
		return time.Now().Add(longest + b.unit.timeout)
	}
	return one.hold.Deadline().Add(longest/3 + longest/50 + b.unit.timeout) // a renewal may be under way
}

// afterUnlock is until when Redis may keep a lock that was released, with that error.
func (b *books) afterUnlock(one *call, err error) time.Time {
	until, stopping, trouble := time.Now(), one.process.stopping.Load(), b.trouble(one.process)
	switch {
	case err == nil:
	case !errors.Is(err, redlatch.ErrLost), one.has(lease), stopping, trouble:
		until = until.Add(b.asked(one) + b.unit.timeout)
	default:
		until = until.Add(b.unit.lease/50 + b.late()) // a margin is between the end here and there
	}
	if least, stays := one.option(minHold); stays {
		until = later(until, time.Now().Add(least))
	}
	if one.What == quorum && b.Weather != calm { // the rest is released in the background
		until = until.Add(b.unit.timeout)
	}
	return until
}
