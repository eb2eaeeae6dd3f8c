package counters_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// TestLongRandomVerbsOnPermitsAgreeWithAModel runs random verbs on both semaphores and a latch, by two
// clients, while requests and replies get lost, and compares the numbers with a model after each.
func TestLongRandomVerbsOnPermitsAgreeWithAModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		losses := rapid.SampledFrom([]int{0, 20, 50}).Draw(r, "losses")
		seed := rapid.Uint64().Draw(r, "seed")
		steps := rapid.SliceOfN(rapid.Custom(drawPermitStep), 20, 60).Draw(r, "steps")
		var failed error
		synctest.Test(t, func(t *testing.T) {
			stage.Perform(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				roll := stage.Dice(seed)
				s.Driver.Spoil(func([]string) stage.Fate {
					if roll(100) < losses {
						return []stage.Fate{stage.NotSent, stage.Lost, stage.AnswerLost}[roll(3)]
					}
					return stage.Arrives
				})
				m := &permitModel{Stage: s, clients: []*redlatch.Client{s.Client, s.Other(redlatch.Config{})}, sound: s.Stranger()}
				for i, step := range steps {
					err := m.act(step)
					if err == nil {
						err = m.compare()
					}
					if err != nil {
						failed = fmt.Errorf("step %d, %+v: %w", i, step, err)
						return
					}
				}
			})
		})
		if failed != nil {
			r.Fatal(failed)
		}
	})
}

type permitStep struct {
	Client, N int
	Verb      string
}

func drawPermitStep(r *rapid.T) permitStep {
	return permitStep{
		Client: rapid.IntRange(0, 1).Draw(r, "client"),
		N:      rapid.IntRange(1, 4).Draw(r, "n"),
		Verb: rapid.SampledFrom([]string{
			"hold", "hold", "hold", "unlock", "unlock", "abandon", "resize", "shrink", "set", "pause",
			"take", "take", "give", "add", "drain", "make", "close", "count", "count",
		}).Draw(r, "verb"),
	}
}

// permitModel is what the three should look like.
type permitModel struct {
	*stage.Stage
	clients []*redlatch.Client
	sound   *redlatch.Client // which no loss meets

	made, permits bool // the semaphores exist
	free, total   int  // of the plain one, and of the leased one
	holds         []*redlatch.Hold
	dead          []time.Time // when the permits of those who died expire
	count         int         // of the latch
}

// inUse is how many leased permits are in use now.
func (m *permitModel) inUse() (n int) {
	for _, end := range m.dead {
		if time.Now().Before(end) {
			n++
		}
	}
	return n + len(m.holds)
}

func (m *permitModel) act(step permitStep) error {
	ctx, c := m.Limited(), m.clients[step.Client]
	sem, plain, latch := c.PermitSemaphore("permits"), c.Semaphore("plain"), c.Latch("latch")
	switch step.Verb {
	case "hold", "abandon":
		return m.hold(ctx, sem, step)
	case "unlock":
		if len(m.holds) > 0 {
			h := m.holds[0]
			m.holds = m.holds[1:]
			return h.Unlock(ctx)
		}
	case "resize", "shrink":
		n := map[string]int{"resize": step.N, "shrink": -step.N}[step.Verb]
		m.permits, m.total = true, m.total+n
		return sem.AddPermits(ctx, n)
	case "set":
		set, err := sem.TrySetPermits(ctx, step.N)
		return m.wantSet(&m.permits, &m.total, step.N, set, err)
	case "pause":
		time.Sleep(time.Duration(step.N) * 12 * time.Second)
	case "take":
		ok, err := plain.TryAcquire(ctx, step.N)
		if err == nil && ok != (m.free >= step.N) {
			return fmt.Errorf("taken: %v of %d", ok, m.free)
		}
		if ok {
			m.free -= step.N
		}
		return err
	case "give", "add":
		m.made, m.free = true, m.free+step.N
		if step.Verb == "give" {
			return plain.Release(ctx, step.N)
		}
		return plain.AddPermits(ctx, step.N)
	case "drain":
		n, err := plain.Drain(ctx)
		if err == nil && n != max(m.free, 0) {
			return fmt.Errorf("drained %d of %d", n, m.free)
		}
		m.free = min(m.free, 0)
		return err
	case "make":
		set, err := plain.TrySetPermits(ctx, step.N)
		return m.wantSet(&m.made, &m.free, step.N, set, err)
	case "close":
		closed := m.count > 0
		set, err := latch.TrySetCount(ctx, step.N)
		return m.wantSet(&closed, &m.count, step.N, set, err)
	case "count":
		m.count = max(m.count-1, 0)
		return latch.CountDown(ctx)
	}
	return nil
}

// wantSet compares the outcome of setting something that may be there.
func (m *permitModel) wantSet(there *bool, value *int, n int, set bool, err error) error {
	if err == nil && set == *there {
		return fmt.Errorf("set: %v, and it was there: %v", set, *there)
	}
	if !*there {
		*there, *value = true, n
	}
	return err
}

// hold takes a leased permit, which is abandoned or held.
func (m *permitModel) hold(ctx context.Context, sem *redlatch.PermitSemaphore, step permitStep) error {
	free := m.total - m.inUse()
	opts := []redlatch.LockOption{redlatch.WithWait(0)}
	if step.Verb == "abandon" {
		opts = append(opts, redlatch.WithLease(20*time.Second))
	}
	h, err := sem.Acquire(ctx, opts...)
	switch {
	case err == nil && free < 1:
		return fmt.Errorf("got one of %d", free)
	case err != nil && (free > 0 || !errors.Is(err, redlatch.ErrNotAcquired)):
		return fmt.Errorf("one of %d: %w", free, err)
	case err != nil:
		return nil
	case step.Verb == "abandon":
		m.dead = append(m.dead, h.Deadline().Add(202*time.Millisecond)) // the margin of a lease of 20 s
		h.Detach()
	default:
		m.holds = append(m.holds, h)
	}
	return nil
}

func (m *permitModel) compare() error {
	ctx, c := m.Limited(), m.sound
	want := m.total - m.inUse()
	if !m.permits {
		want = 0
	}
	for what, pair := range map[string][2]int{
		"leased permits": {check.Must(c.PermitSemaphore("permits").Available(ctx)), want},
		"permits":        {check.Must(c.Semaphore("plain").Available(ctx)), m.free},
		"count":          {check.Must(c.Latch("latch").Count(ctx)), m.count},
	} {
		if pair[0] != pair[1] {
			return fmt.Errorf("%s: %d, the model has %d", what, pair[0], pair[1])
		}
	}
	for _, h := range m.holds {
		if !h.Valid() {
			return fmt.Errorf("a permit was lost: %w", h.Err())
		}
	}
	return nil
}

// TestNeverMoreTakenThanPermits lets workers of two clients contend for a semaphore without leases while a third of
// all requests or replies is lost, waits are short, and contexts end.
func TestNeverMoreTakenThanPermits(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) { contendForPermits(t, s, seed) })
		})
	}
}

func contendForPermits(t *testing.T, s *stage.Stage, seed uint64) {
	const permits = 3
	check.Must(s.Stranger().Semaphore("plain").TrySetPermits(s.Limited(), permits))
	roll := stage.Dice(seed)
	s.Driver.Spoil(stage.LosesOneOf(3, roll))
	clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{})}
	var taken, entered atomic.Int64
	var workers sync.WaitGroup
	for w := range 16 {
		workers.Go(func() {
			for range 40 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+roll(3000))*time.Millisecond)
				sem, n := clients[w%2].Semaphore("plain"), 1+roll(2)
				if sem.Acquire(ctx, n) == nil { // what nobody knows is undone a little later
					entered.Add(1)
					if n := taken.Add(int64(n)); n > permits {
						t.Errorf("%d of %d permits are taken", n, permits)
					}
					time.Sleep(time.Duration(roll(50)) * time.Millisecond)
					taken.Add(-int64(n))
					if err := sem.Release(ctx, n); err != nil {
						t.Error("Release:", err)
					}
				}
				cancel()
			}
		})
	}
	workers.Wait()
	s.Driver.Spoil(nil)
	time.Sleep(31 * time.Second)
	fixture.Available(t, s.Client.Semaphore("plain"), permits)
	check.NothingIn(t, clients)
	if entered.Load() < 100 {
		t.Errorf("only %d entered: the test tests too little", entered.Load())
	}
}
