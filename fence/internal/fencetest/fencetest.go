// Package fencetest is what every guard and every store of package fence promises, as tests. Those
// that need SQL drivers run them in a module of their own, fence/databases.
package fencetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Pass tries to pass a guard with a token.
type Pass func(token int64) error

// Refuses is what every guard promises of tokens that come one after another. The guard
// has let nobody pass yet.
func Refuses(t *testing.T, pass Pass) {
	t.Helper()
	for _, none := range []int64{0, -1, -1 << 63} {
		if err := pass(none); !errors.Is(err, fence.ErrNoToken) || errors.Is(err, fence.ErrStale) {
			t.Errorf("token %d: %v, want ErrNoToken", none, err)
		}
	}
	Passes(t, pass, 33, 33, 34) // the same holder writes twice, then the next one
	WantStale(t, pass(33), 33, 34)
	Passes(t, pass, 34)
	Passes(t, pass, 100) // as text it is less than 34
	WantStale(t, pass(99), 99, 100)
	// Floating point does not tell these two apart.
	Passes(t, pass, 1<<53+1)
	WantStale(t, pass(1<<53), 1<<53, 1<<53+1)
	Passes(t, pass, 1<<63-1)
	WantStale(t, pass(1<<63-2), 1<<63-2, 1<<63-1)
}

// Passes wants all tokens to pass.
func Passes(t *testing.T, pass Pass, tokens ...int64) {
	t.Helper()
	for _, token := range tokens {
		if err := pass(token); err != nil {
			t.Errorf("token %d: %v, want it to pass", token, err)
		}
	}
}

// WantStale wants a refusal that tells of both tokens.
func WantStale(t *testing.T, err error, token, last int64) {
	t.Helper()
	if stale, ok := errors.AsType[*fence.StaleError](err); !errors.Is(err, fence.ErrStale) || !ok {
		t.Errorf("token %d after %d: %v, want ErrStale", token, last, err)
	} else if stale.Token != token || stale.Last != last {
		t.Errorf("token %d after %d: the error tells of %d after %d", token, last, stale.Token, stale.Last)
	}
}

// ErrUndone is what a writer of a crowd returns that has passed and was rolled back.
var ErrUndone = errors.New("rolled back")

// Crowd has writers pass with random tokens at the same time. Nobody may pass after
// somebody newer is through, and nobody who is refused may be as new as all others. It
// returns how many passed and the newest that did.
func Crowd(t *testing.T, writers, rounds int, pass Pass) (passed, newest int64) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var through, count atomic.Int64
	var done sync.WaitGroup
	for i := range writers {
		roll := rand.New(rand.NewPCG(seed, uint64(i)))
		done.Go(func() {
			for range redistest.Stretch(rounds) {
				floor := through.Load()
				token := max(1, floor-5) + roll.Int64N(10)
				err := pass(token)
				switch {
				case err == nil && token < floor:
					t.Errorf("token %d passed after %d was through", token, floor)
				case err == nil:
					count.Add(1)
					raise(&through, token)
				case errors.Is(err, ErrUndone):
				default:
					if complaint := unfair(err, token); complaint != "" {
						t.Error(complaint)
					}
				}
			}
		})
	}
	done.Wait()
	if count.Load() == 0 || count.Load() == int64(writers*redistest.Stretch(rounds)) {
		t.Errorf("%d of %d passed: this proves nothing", count.Load(), writers*redistest.Stretch(rounds))
	}
	return count.Load(), through.Load()
}

// unfair says what is wrong with a refusal.
func unfair(err error, token int64) string {
	var stale *fence.StaleError
	if !errors.As(err, &stale) {
		return fmt.Sprintf("token %d: %v", token, err)
	}
	if stale.Last <= token {
		return fmt.Sprintf("token %d was refused though only %d had passed", token, stale.Last)
	}
	return ""
}

func raise(to *atomic.Int64, token int64) {
	for {
		now := to.Load()
		if now >= token || to.CompareAndSwap(now, token) {
			return
		}
	}
}

// Keeps is what every store promises.
func Keeps(t *testing.T, store fence.Store) {
	t.Helper()
	of := func(resource string) Pass {
		return func(token int64) error { return store.Pass(t.Context(), token, resource) }
	}
	Refuses(t, of(redistest.Name(t)))

	one, other := of(redistest.Name(t)), of(redistest.Name(t)+" 'quoted\" {tag}")
	Passes(t, one, 9)
	Passes(t, other, 1) // each resource has tokens of its own
	WantStale(t, one(8), 8, 9)

	shared := of(redistest.Name(t))
	_, newest := Crowd(t, 8, 40, shared)
	WantStale(t, shared(newest-1), newest-1, newest)
	Passes(t, shared, newest)
}
