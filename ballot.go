package redlatch

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// ballot is one attempt to get a majority.
type ballot struct {
	parts []member
	wants []request
	group *group
	first int       // the member that is waited for before the others are asked, or -1
	until time.Time // zero: only the context bounds the wait

	answers chan vote // of all that are asked, so that nobody waits to be heard
	votes   []vote    // those that were read, by member
}

// vote is what asking one member came to. Without an error and young it was granted.
type vote struct {
	member int
	given  bool
	young  time.Duration // granted, but does not count for that long
	err    error
}

func (q *Quorum) ballot(ctx context.Context, wants []request, first int, until time.Time) *ballot {
	b := &ballot{
		parts: q.parts, wants: wants, first: first, until: until,
		group:   newGroup(ctx, "quorum", q.Name(), len(q.parts), q.need()),
		answers: make(chan vote, len(q.parts)),
		votes:   make([]vote, len(q.parts)),
	}
	if want := wants[0]; !want.fixed { // what is not renewed is not restored
		b.group.retake = func(i int) {
			if err := b.send(i, b.restore); err != nil {
				b.group.miss(i, err)
			}
		}
		b.group.every = q.parts[0].client.config.every(want.lease)
	}
	return b
}

// poll asks the members and reports whether a majority was granted. It does not wait for
// those that are slower: after a majority of answers they have a few times as long as that
// took.
func (b *ballot) poll() bool {
	if b.first >= 0 {
		b.votes[b.first] = b.ask(b.first, b.patience())
	}
	began := time.Now()
	for i := range b.parts {
		if i != b.first {
			if err := b.send(i, func(i int) { b.answers <- b.ask(i, 0) }); err != nil {
				b.group.miss(i, err)
				b.votes[i] = vote{member: i, given: true, err: err}
			}
		}
	}
	limited, cancel := b.limit()
	defer cancel()
	var slow <-chan time.Time
	for !b.formed() {
		if b.group.hold.Err() != nil || b.given() == len(b.parts) {
			return false
		}
		if slow == nil && b.given() >= b.group.need {
			timer := time.NewTimer(max(3*time.Since(began), leastPatience))
			defer timer.Stop()
			slow = timer.C
		}
		select {
		case v := <-b.answers:
			b.votes[v.member] = v
		case <-slow:
			return false
		case <-limited.Done():
			return false
		}
	}
	return true
}

// limit is a context that ends with the group, with that of the caller, and when the time
// of WithWait has passed.
func (b *ballot) limit() (context.Context, context.CancelFunc) {
	if b.wants[0].wait == 0 || b.until.IsZero() {
		return b.group.below(), func() {}
	}
	return context.WithDeadline(b.group.below(), b.until)
}

// leastPatience is for how long at least slow members are waited for while a majority has
// answered and was not won.
const leastPatience = 100 * time.Millisecond

// formed makes the group a hold if enough members are held, and none of them only just.
func (b *ballot) formed() bool {
	b.group.ended()
	return b.group.form()
}

func (b *ballot) given() (n int) {
	for _, v := range b.votes {
		if v.given {
			n++
		}
	}
	return n
}

// send has a member asked on a goroutine that its client waits for when it closes.
func (b *ballot) send(i int, ask func(i int)) error {
	c := b.parts[i].client
	if !c.gate.enter() {
		return fmt.Errorf("redlatch: lock %q: %w", b.parts[i].point.name, ErrClosed)
	}
	go func() {
		defer c.gate.leave()
		ask(i)
	}()
	return nil
}

// ask takes one member. Since when its server is up is asked after the grant, so that a
// restart between the two shows. A server that does not count yet keeps the grant, for a
// majority that others make: then nobody else has one that it could have forgotten.
func (b *ballot) ask(i int, wait time.Duration) vote {
	part, want := b.parts[i], b.wants[i]
	want.wait = wait
	h, err := part.client.acquireOn(b.group.below(), part.point, want)
	var young time.Duration
	if err == nil {
		if young, err = part.young(b.group.below()); err != nil {
			_ = h.Unlock(context.Background())
		}
	}
	if err != nil {
		b.group.miss(i, err)
		return vote{member: i, given: true, err: err}
	}
	if !b.group.add(i, h, young == 0) {
		_ = h.Unlock(context.Background())
	}
	return vote{member: i, given: true, young: young}
}

// restore takes a member that is missing. Nobody else has a majority meanwhile, so it is no
// matter what its server may have forgotten.
func (b *ballot) restore(i int) {
	part, want := b.parts[i], b.wants[i]
	want.wait = 0
	h, err := part.client.acquireOn(b.group.below(), part.point, want)
	if err != nil {
		b.group.miss(i, err)
		return
	}
	if !b.group.add(i, h, true) {
		_ = h.Unlock(context.Background())
	}
}

// patience is for how long the first member is waited for.
func (b *ballot) patience() time.Duration {
	most := nap{most: b.parts[b.first].client.config.PollCap}
	wait := most.after(-1)
	if !b.until.IsZero() {
		wait = min(wait, time.Until(b.until))
	}
	return max(wait, 0)
}

// late says that the time of WithWait has passed.
func (b *ballot) late() bool { return !b.until.IsZero() && !time.Now().Before(b.until) }

// verdict gives back what was taken for a majority that was not won, and says why it was
// not.
func (b *ballot) verdict(ctx context.Context) error {
	name := b.group.name
	if err := b.group.rollback(); err != nil {
		return withCause(fmt.Errorf("redlatch: quorum %q: %w: %w", name, ErrUnknownOutcome, err), ctx)
	}
	b.gather()
	var refused, failed []error
	for i, v := range b.votes {
		switch {
		case !v.given:
			failed = append(failed, fmt.Errorf("redlatch: lock %q on %s: %w: no answer yet", b.parts[i].point.name, b.parts[i].where(), ErrUnknownOutcome))
		case errors.Is(v.err, ErrNotAcquired):
			refused = append(refused, v.err)
		case v.err != nil:
			failed = append(failed, v.err)
		case v.young > 0:
			refused = append(refused, fmt.Errorf("%s was restarted and counts in %v", b.parts[i].where(), v.young))
		}
	}
	if len(failed) > len(b.parts)-b.group.need {
		return withCause(fmt.Errorf("redlatch: quorum %q: a majority of %d servers could not be asked: %w", name, len(b.parts), errors.Join(failed...)), ctx)
	}
	err := fmt.Errorf("redlatch: quorum %q: %w", name, ErrNotAcquired)
	if len(refused) > 0 {
		err = fmt.Errorf("%w: %d of %d refused, among them: %v", err, len(refused), len(b.parts), refused[0])
	}
	return withCause(err, ctx)
}

// gather reads the votes that come in a moment after the attempt was given up, for
// everybody was told to stop.
func (b *ballot) gather() {
	timer := time.NewTimer(4 * grace)
	defer timer.Stop()
	for b.given() < len(b.parts) {
		select {
		case v := <-b.answers:
			b.votes[v.member] = v
		case <-timer.C:
			return
		}
	}
}

// pivot is the member to wait for before asking again, or -1: the first in order that
// another holds, and after a wait in vain for one the next.
func (b *ballot) pivot() int {
	from := 0
	if b.first >= 0 && b.votes[b.first].held() {
		from = b.first + 1
	}
	for k := range b.votes {
		if i := (from + k) % len(b.votes); b.votes[i].held() {
			return i
		}
	}
	return -1
}

// held says that another holds the member.
func (v vote) held() bool {
	return errors.Is(v.err, ErrNotAcquired) &&
		!errors.Is(v.err, context.Canceled) && !errors.Is(v.err, context.DeadlineExceeded)
}

// pause waits for a while, or until a young server counts. It reports false when the time
// is up.
func (b *ballot) pause(ctx context.Context, d time.Duration) bool {
	for i, v := range b.votes {
		if v.young > 0 {
			d = max(d, min(v.young, b.parts[i].client.config.PollCap))
		}
	}
	if !b.until.IsZero() {
		d = min(d, time.Until(b.until))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return !b.late()
	case <-ctx.Done():
		return false
	}
}

// young says for how much longer the member's server does not count, because it may have
// been restarted under a hold that is still valid.
func (m member) young(ctx context.Context) (time.Duration, error) {
	delay := m.client.config.RestartDelay
	if delay < 0 || m.embedded() {
		return 0, nil
	}
	limited, cancel := context.WithTimeout(ctx, m.client.config.CommandTimeout)
	defer cancel()
	reply := m.client.driver.Do(limited, driver.Command{Words: []string{"INFO", "server"}, Key: m.point.name})
	var refused *driver.ServerError
	switch {
	case errors.As(reply.Err, &refused):
		return 0, fmt.Errorf("%w: %w", m.ageless(), refused)
	case reply.Err != nil:
		return 0, failure("ask since when its server is up, of", m.point.name, reply.Err)
	}
	_, rest, _ := strings.Cut(reply.Str, "uptime_in_seconds:")
	text, _, _ := strings.Cut(rest, "\r")
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, m.ageless()
	}
	// Both ends of the server's count are cut off to seconds, so it can be one too high.
	return max(delay+time.Second-time.Duration(seconds)*time.Second, 0), nil
}

// ageless is the error of a server that does not tell since when it is up.
func (m member) ageless() error {
	return fmt.Errorf("redlatch: lock %q: %w: %s does not tell since when it is up (INFO server), which Config.RestartDelay needs", m.point.name, ErrUnsupported, m.where())
}
