package fence_test

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

func TestMain(m *testing.M) { redistest.Main(m) }

// passFunc tries to pass a guard with a token.
type passFunc func(token int64) error

// refuses is what every guard promises of tokens that come one after another. The guard
// has let nobody pass yet.
func refuses(t *testing.T, pass passFunc) {
	t.Helper()
	for _, none := range []int64{0, -1, -1 << 63} {
		if err := pass(none); !errors.Is(err, fence.ErrNoToken) || errors.Is(err, fence.ErrStale) {
			t.Errorf("token %d: %v, want ErrNoToken", none, err)
		}
	}
	passes(t, pass, 33, 33, 34) // the same holder writes twice, then the next one
	wantStale(t, pass(33), 33, 34)
	passes(t, pass, 34)
	passes(t, pass, 100) // as text it is less than 34
	wantStale(t, pass(99), 99, 100)
	// Floating point does not tell these two apart.
	passes(t, pass, 1<<53+1)
	wantStale(t, pass(1<<53), 1<<53, 1<<53+1)
	passes(t, pass, 1<<63-1)
	wantStale(t, pass(1<<63-2), 1<<63-2, 1<<63-1)
}

func passes(t *testing.T, pass passFunc, tokens ...int64) {
	t.Helper()
	for _, token := range tokens {
		if err := pass(token); err != nil {
			t.Errorf("token %d: %v, want it to pass", token, err)
		}
	}
}

func wantStale(t *testing.T, err error, token, last int64) {
	t.Helper()
	var stale *fence.StaleError
	if !errors.Is(err, fence.ErrStale) || !errors.As(err, &stale) {
		t.Errorf("token %d after %d: %v, want ErrStale", token, last, err)
	} else if stale.Token != token || stale.Last != last {
		t.Errorf("token %d after %d: the error tells of %d after %d", token, last, stale.Token, stale.Last)
	}
}

// errUndone is what a writer of a crowd returns that has passed and was rolled back.
var errUndone = errors.New("rolled back")

// crowd has writers pass with random tokens at the same time. Nobody may pass after
// somebody newer is through, and nobody who is refused may be as new as all others. It
// returns how many passed and the newest that did.
func crowd(t *testing.T, writers, rounds int, pass passFunc) (passed, newest int64) {
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
				case errors.Is(err, errUndone):
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
