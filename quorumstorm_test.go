package redlatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// From three servers to five in one step there are two majorities that share no server.
func TestAQuorumThatGrowsByTwoServersIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, ctx context.Context) {
		all := posts(t, 5, sure)
		small := redlatch.NewQuorum(locksOf(all[:3], "job")...)
		all[2].set(func(commands []driver.Command, _ sender) []driver.Reply { return failAll(commands, errCut) })
		h := must(small.Lock(ctx))
		all[2].set(nil)
		_, err := redlatch.NewQuorum(locksOf(all, "job")...).TryLock(ctx)
		var config *redlatch.ConfigError
		if !errors.As(err, &config) {
			t.Errorf("five servers while three are in use: %v, want a ConfigError", err)
		}
		if _, err = redlatch.NewQuorum(locksOf(all[1:4], "job")...).TryLock(ctx); !errors.As(err, &config) {
			t.Errorf("one server for another while three are in use: %v, want a ConfigError", err)
		}
		if _, err = redlatch.NewQuorum(locksOf(all[:4], "job")...).TryLock(ctx); errors.As(err, &config) {
			t.Errorf("four servers while three are in use: %v", err)
		}
		_ = h.Unlock(ctx)
		if err := must(redlatch.NewQuorum(locksOf(all, "job")...).Lock(ctx)).Unlock(ctx); err != nil {
			t.Error("after the release:", err)
		}
	})
}

// Goal: no two holders and nothing left behind, whatever happens to servers. Method: participants
// with owners, leases and ends in fake time; servers freeze, restart empty, lose answers and carry
// out requests late; every moment of a hold is checked against the others'.
func TestAQuorumInAStorm(t *testing.T) {
	for range 2 * redistest.Stretch() {
		seed := rand.Uint64()
		bubble(t, func(t *testing.T, ctx context.Context) { storm(t, ctx, seed) })
	}
}

func storm(t *testing.T, ctx context.Context, seed uint64) {
	t.Logf("seed %d", seed)
	cfg := redlatch.Config{LeaseTime: 3 * time.Second, CommandTimeout: time.Second, ReleaseTimeout: time.Second}
	all := posts(t, 5, cfg)
	storms := make([]*weather, len(all))
	for i, p := range all {
		storms[i] = &weather{run: string(rune('a' + i)), up: time.Now().Add(-time.Hour), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		p.set(storms[i].around)
	}
	var mu sync.Mutex
	inside, served := 0, 0
	var work sync.WaitGroup
	end := time.Now().Add(3 * time.Minute)
	for i := range 4 {
		var locks []redlatch.Lock
		below := ctx
		for _, p := range all {
			c := p.rival(t, cfg)
			locks, below = append(locks, c.Mutex("job")), c.WithOwner(below)
		}
		q, random := redlatch.NewQuorum(locks...), rand.New(rand.NewPCG(seed, uint64(100+i)))
		work.Go(func() {
			for time.Now().Before(end) {
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
					continue
				}
				stay(t, h, q, below, random, &mu, &inside, &served, seed)
			}
		})
	}
	for chaos := rand.New(rand.NewPCG(seed, 99)); time.Now().Before(end); {
		two, restarted := chaos.Perm(5)[:2], false
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
	work.Wait()
	t.Logf("%d holds", served)
	if served < 20 {
		t.Errorf("only %d holds (seed %d)", served, seed)
	}
	time.Sleep(4 * time.Second)
	for i, p := range all {
		if p.memory.Miniredis().Exists("job") {
			t.Errorf("server %d is locked after the end (seed %d)", i, seed)
		}
	}
}

// stay is alone inside for a while, and re-enters now and then.
func stay(t *testing.T, h *redlatch.Hold, q *redlatch.Quorum, below context.Context, random *rand.Rand, mu *sync.Mutex, inside, served *int, seed uint64) {
	count := func(by int) {
		mu.Lock()
		defer mu.Unlock()
		if *inside += by; *inside > 1 {
			t.Errorf("%d holders (seed %d)", *inside, seed)
		}
	}
	if h.Valid() {
		count(1)
		mu.Lock()
		*served++
		mu.Unlock()
		var again *redlatch.Hold
		if random.IntN(3) == 0 {
			short, cancel := context.WithTimeout(below, time.Second)
			again, _ = q.TryLock(short)
			cancel()
		}
		for until := time.Now().Add(time.Duration(random.IntN(6000)) * time.Millisecond); time.Now().Before(until) && time.Until(h.Deadline()) > 6*time.Millisecond && h.Valid(); {
			time.Sleep(5 * time.Millisecond)
		}
		count(-1)
		if again != nil {
			_ = again.Unlock(below)
		}
	}
	_ = h.Unlock(below)
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

func (w *weather) turn(kind int, p *post) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind = kind; kind == empty {
		p.memory.Miniredis().FlushAll()
		w.run, w.up = w.run+"'", time.Now()
	}
}

func (w *weather) around(commands []driver.Command, send sender) []driver.Reply {
	w.mu.Lock()
	kind, run, up, draw := w.kind, w.run, w.up, w.random.IntN(1000)
	w.mu.Unlock()
	switch {
	case kind == frozen:
		time.Sleep(time.Second)
		send(commands...)
		return failAll(commands, errCut)
	case kind == lossy && draw < 500:
		send(commands...)
		return failAll(commands, errCut)
	case kind == late:
		time.Sleep(time.Duration(draw) * time.Millisecond)
	}
	return aged(run, func() time.Duration { return time.Since(up) })(commands, send)
}

// span is when somebody held the lock for certain.
type span struct {
	who         string
	first, last time.Time
}

// Goal: there are never two holders while a minority of servers dies, freezes and restarts
// empty. Method: several participants note from when until when their holds were valid,
// each moment taken on the safe side; no two such spans overlap.
func TestAQuorumHasOneHolderWhileMinoritiesFail(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(8*redistest.Stretch())*time.Second)
	defer cancel()
	name, all := redistest.Name(t), servers(t, 5)
	var mu sync.Mutex
	var spans []span
	var work sync.WaitGroup
	for i := range 4 {
		q := openQuorum(t, all, name, redlatch.Config{LeaseTime: lease, CommandTimeout: lease / 2, ReleaseTimeout: lease / 2})
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		work.Go(func() {
			for ctx.Err() == nil {
				h, err := q.Lock(ctx)
				if err != nil {
					<-time.After(10 * time.Millisecond)
					continue
				}
				s := span{who: fmt.Sprint("participant ", i), first: time.Now()}
				for end := s.first.Add(time.Duration(random.IntN(300)) * time.Millisecond); ; <-time.After(time.Millisecond) {
					now := time.Now()
					if now.After(end) || !h.Valid() {
						break
					}
					s.last = now
				}
				_ = h.Unlock(ctx)
				mu.Lock()
				spans = append(spans, s)
				mu.Unlock()
			}
		})
	}
	fail := rand.New(rand.NewPCG(seed, 99))
	for ctx.Err() == nil {
		two := fail.Perm(5)[:2]
		killed := map[int]bool{}
		for _, i := range two {
			switch fail.IntN(3) {
			case 0:
				all[i].Freeze()
			case 1:
				killed[i] = true
				all[i].Kill()
			default:
				all[i].Restart(t)
			}
		}
		select {
		case <-time.After(time.Duration(fail.IntN(1500)) * time.Millisecond):
		case <-ctx.Done():
		}
		// Those that are restarted young stay a minority: the next two fail when these count.
		for _, i := range two {
			all[i].Thaw()
			if killed[i] {
				all[i].Restart(t)
			}
		}
		select {
		case <-time.After(2*time.Second + lease):
		case <-ctx.Done():
		}
	}
	work.Wait()
	checkSpans(t, spans, seed)
}

func checkSpans(t *testing.T, spans []span, seed uint64) {
	slices.SortFunc(spans, func(a, b span) int { return a.first.Compare(b.first) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.first.Before(a.last) && !b.last.IsZero() {
			t.Errorf("%s came in %v before %s was out (seed %d)", b.who, a.last.Sub(b.first), a.who, seed)
		}
	}
	t.Logf("%d holds", len(spans))
	if len(spans) < 5 {
		t.Errorf("only %d holds", len(spans))
	}
}
