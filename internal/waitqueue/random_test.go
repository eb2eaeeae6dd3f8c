package waitqueue_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
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

func drawPlan(random *rand.Rand) []step {
	return redistest.PlanOf(random, 5, 80, func(random *rand.Rand) step {
		return step{
			verb: redistest.Pick(random,
				"join", "join", "join", "release", "release", "release", "leave",
				"take", "take", "give", "give", "steal", "snatch", "snatch", "notice", "force", "grab", "cut", "down", "up", "up",
				"calm", "far", "near", "late", "soon", "lose", "deliver",
			),
			pick: random.IntN(8),
			span: redistest.Pick[time.Duration](random, 0, 0, 1, 2, 3, 5, 20, 700, 1700) * ms,
		}
	})
}

func TestNoWakeUpIsMissedAndTheOrderIsKeptWhateverHappens(t *testing.T) {
	for _, lossy := range []bool{false, true} {
		t.Run(fmt.Sprintf("messages get lost: %v", lossy), func(t *testing.T) {
			redistest.Plans(t, 200, drawPlan, func(plan []step) (err error) {
				synctest.Test(t, func(*testing.T) { err = followPlan(plan, lossy) })
				return err
			})
		})
	}
}

func followPlan(plan []step, lossy bool) error {
	p := newProcess(lossy)
	for i, s := range plan {
		p.take(s)
		synctest.Wait()
		time.Sleep(s.span + apart(i))
	}
	p.calm()
	p.end()
	if len(p.complaints) > 0 {
		return errors.New(strings.Join(p.complaints, "\n"))
	}
	return nil
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
