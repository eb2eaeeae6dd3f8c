package waitqueue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// Goal: no wake-up is ever missed, and waiters are served in the order of their coming.
// Method: random joins, departures, releases, thefts, losses, late messages and disconnects in
// fake time. Waiters behave as those of the library, except that they have no poll cap: who
// is not woken sleeps for an hour. So whenever the connection has been well for a moment, and
// the lock is free and not held here, nobody may be waiting for it. In half of the rounds
// messages get lost on a connection that is well; there waiters have a cap, and nobody may
// sleep for longer than that.

// step is one thing that happens. It is drawn before the clock is faked.
type step struct {
	verb string
	pick int
	span time.Duration
}

func (s step) String() string { return fmt.Sprintf("%s %d %v", s.verb, s.pick, s.span) }

var steps = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
	return step{
		verb: rapid.SampledFrom([]string{
			"join", "join", "join", "release", "release", "release", "leave",
			"take", "take", "give", "give", "steal", "snatch", "snatch", "notice", "force", "grab", "cut", "down", "up", "up",
			"calm", "far", "near", "late", "soon", "lose", "deliver",
		}).Draw(t, "verb"),
		pick: rapid.IntRange(0, 7).Draw(t, "pick"),
		span: time.Duration(rapid.SampledFrom([]int{0, 0, 1, 2, 3, 5, 20, 700, 1700}).Draw(t, "span")) * ms,
	}
}), 5, 80)

func TestNoWakeUpIsMissedAndTheOrderIsKeptWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		plan, lossy := steps.Draw(rt, "plan"), rapid.Bool().Draw(rt, "lossy")
		var complaints []string
		synctest.Test(t, func(*testing.T) {
			p := newProcess(lossy)
			for i, s := range plan {
				p.take(s)
				synctest.Wait()
				time.Sleep(s.span + apart(i))
			}
			p.calm()
			p.end()
			complaints = p.complaints
		})
		if len(complaints) > 0 {
			rt.Fatalf("%s", strings.Join(complaints, "\n"))
		}
	})
}

// calm lets the connection be well for as long as the longest back-off takes, and
// everything else that is under way; and, where messages were lost, for the longest sleep. Then
// the lock is not free and not held here while somebody waits.
func (p *process) calm() {
	p.station.set(func() { p.station.down, p.station.losing = nil, false })
	time.Sleep(1500 * ms)
	if p.lossy {
		time.Sleep(p.most)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := p.hub.Waiting(); n != len(p.waiting) {
		p.complain("the hub counts %d waiters, there are %d", n, len(p.waiting))
	}
	here := slices.ContainsFunc(p.held, func(h hold) bool { return h.waiter != nil })
	if p.holder == 0 && !here && len(p.waiting) > 0 {
		p.complain("the lock is free, the connection is well, and %d sleep", len(p.waiting))
	}
}

// end lets everybody go, and checks what is left.
func (p *process) end() {
	p.mu.Lock()
	for _, cancel := range p.waiting {
		cancel()
	}
	clear(p.waiting) // from here on the order does not matter
	p.mu.Unlock()
	p.work.Wait()
	time.Sleep(2 * time.Second)
	if n := p.hub.Subscribed(); n > 0 || p.station.connections() > 0 {
		p.complain("%d subscriptions and %d connections are left for nobody", n, p.station.connections())
	}
	p.hub.Stop()
}
