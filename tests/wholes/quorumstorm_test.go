package wholes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Goal: no two holders and nothing left behind, whatever happens to servers. Method: participants
// with owners, leases and ends in fake time; servers freeze, restart empty, lose answers and carry
// out requests late; every moment of a hold is checked against the others'.
func TestAQuorumInAStorm(t *testing.T) {
	t.Parallel()
	for range redistest.Stretch(1) {
		seed := rand.Uint64()
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stage.Bubble(t, func(t *testing.T, ctx context.Context) { storm(t, ctx, seed) })
		})
	}
}

func storm(t *testing.T, ctx context.Context, seed uint64) {
	t.Logf("seed %d", seed)
	cfg := redlatch.Config{LeaseTime: 3 * time.Second, CommandTimeout: time.Second, ReleaseTimeout: time.Second}
	all := stage.Posts(t, 5, cfg)
	storms := make([]*weather, len(all))
	for i, p := range all {
		storms[i] = &weather{run: string(rune('a' + i)), up: time.Now().Add(-time.Hour), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		p.Set(storms[i].around)
	}
	run := &stormRun{t: t, seed: seed}
	var work sync.WaitGroup
	end := time.Now().Add(3 * time.Minute)
	for i := range 4 {
		var locks []redlatch.Lock
		below := ctx
		for _, p := range all {
			c := p.Rival(t, cfg)
			locks, below = append(locks, c.Mutex("job")), c.WithOwner(below)
		}
		q, random := check.Must(redlatch.NewQuorum(locks...)), rand.New(rand.NewPCG(seed, uint64(100+i)))
		work.Go(func() {
			for time.Now().Before(end) {
				run.visit(below, q, random)
			}
		})
	}
	for chaos := rand.New(rand.NewPCG(seed, 99)); time.Now().Before(end); {
		blow(chaos, storms, all)
	}
	work.Wait()
	t.Logf("%d holds", run.served)
	if run.served < 20 {
		t.Errorf("only %d holds (seed %d)", run.served, seed)
	}
	time.Sleep(4 * time.Second)
	for i, p := range all {
		if p.Memory.Miniredis().Exists("job") {
			t.Errorf("server %d is locked after the end (seed %d)", i, seed)
		}
	}
}

// blow lets two servers fail for a while.
func blow(chaos *rand.Rand, storms []*weather, all []*stage.Post) {
	two, restarted := chaos.Perm(len(all))[:2], false
	for _, i := range two {
		kind := chaos.IntN(4)
		storms[i].turn(kind, all[i])
		restarted = restarted || kind == empty
	}
	time.Sleep(time.Duration(chaos.IntN(4000)) * time.Millisecond)
	for _, i := range two {
		storms[i].turn(calm, all[i])
	}
	if restarted {
		time.Sleep(5 * time.Second) // they count again before the next two fail
	}
}

// stormRun counts holders.
type stormRun struct {
	t    *testing.T
	seed uint64

	mu             sync.Mutex
	inside, served int
}

// visit asks for the lock, and stays inside for a while if it is granted.
func (run *stormRun) visit(below context.Context, q *redlatch.Quorum, random *rand.Rand) {
	var opts []redlatch.LockOption
	switch random.IntN(4) {
	case 0:
		opts = append(opts, redlatch.WithLease(2*time.Second))
	case 1:
		opts = append(opts, redlatch.WithMaxHold(time.Second))
	}
	limited, cancel := context.WithTimeout(below, time.Duration(1+random.IntN(20))*time.Second)
	h, err := q.Lock(limited, opts...)
	cancel()
	if err != nil {
		time.Sleep(time.Duration(random.IntN(100)) * time.Millisecond)
		return
	}
	if h.Valid() {
		run.stay(below, h, q, random)
	}
	_ = h.Unlock(below)
}

// stay is alone inside for a while, and re-enters now and then. It does not wait for that: it has to leave when its
// hold ends.
func (run *stormRun) stay(below context.Context, h *redlatch.Hold, q *redlatch.Quorum, random *rand.Rand) {
	run.count(1)
	again := make(chan *redlatch.Hold, 1)
	if random.IntN(3) == 0 {
		go func() {
			short, cancel := context.WithTimeout(below, time.Second)
			defer cancel()
			inner, _ := q.TryLock(short)
			again <- inner
		}()
	} else {
		again <- nil
	}
	until := time.Now().Add(time.Duration(random.IntN(6000)) * time.Millisecond)
	for time.Now().Before(until) && time.Until(h.Deadline()) > 6*time.Millisecond && h.Valid() {
		time.Sleep(5 * time.Millisecond)
	}
	run.count(-1)
	if inner := <-again; inner != nil {
		_ = inner.Unlock(below)
	}
}

// count counts a holder in or out, and fails if there are two.
func (run *stormRun) count(by int) {
	run.mu.Lock()
	defer run.mu.Unlock()
	run.served += max(by, 0)
	if run.inside += by; run.inside > 1 {
		run.t.Errorf("%d holders (seed %d)", run.inside, run.seed)
	}
}

// weather is what becomes of one server's requests.
type weather struct {
	mu     sync.Mutex
	run    string
	up     time.Time
	kind   int
	random *rand.Rand
}

const (
	frozen = iota // nothing is answered, and what was sent is carried out in the end
	lossy         // answers are lost
	late          // requests are carried out late
	empty         // it was restarted without its data
	calm
)

func (w *weather) turn(kind int, p *stage.Post) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind = kind; kind == empty {
		p.Memory.Miniredis().FlushAll()
		w.run, w.up = w.run+"'", time.Now()
	}
}

func (w *weather) around(commands []driver.Command, send stage.Sender) []driver.Reply {
	w.mu.Lock()
	kind, run, up, draw := w.kind, w.run, w.up, w.random.IntN(1000)
	w.mu.Unlock()
	switch {
	case kind == frozen:
		time.Sleep(time.Second)
		send(commands...)
		return stage.FailAll(commands, stage.ErrCut)
	case kind == lossy && draw < 500:
		send(commands...)
		return stage.FailAll(commands, stage.ErrCut)
	case kind == late:
		time.Sleep(time.Duration(draw) * time.Millisecond)
	}
	return stage.Aged(run, func() time.Duration { return time.Since(up) })(commands, send)
}
