package wholes_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// togetherOf says that a request takes several locks with one script.
func togetherOf(commands []driver.Command, names ...string) bool {
	words := strings.Join(commands[0].Words, " ")
	for _, name := range names {
		if !strings.Contains(words, " "+name+" ") {
			return false
		}
	}
	return strings.HasPrefix(words, "EVAL") && !strings.Contains(words, "redlatch_lock__channel")
}

// The caller leaves while the grant of all members is on its way: each of them goes back.
func TestAGrantOfSeveralThatComesTooLateGoesBack(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		p := stage.Posts(t, 1, stage.Sure)[0]
		m := redlatch.NewMulti(fixture.Mutexes(p.Client, "a", "b", "c")...)
		_ = check.Must(m.Lock(ctx)).Unlock(ctx)
		limited, cancel := context.WithCancel(ctx)
		p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			replies := send(commands...)
			if togetherOf(commands, "a", "b", "c") {
				cancel()
				time.Sleep(time.Millisecond)
			}
			return replies
		})
		h, err := m.Lock(limited)
		if err == nil {
			t.Error("granted after the end:", h.Err())
			_ = h.Unlock(ctx)
		}
		synctest.Wait()
		if keys := p.Memory.Miniredis().Keys(); len(keys) > 0 {
			t.Errorf("after %v, %v are locked", err, keys)
		}
	})
}

// One request for several members has no answer: what it took is given back at once.
func TestWhatWasTakenTogetherWithoutAnAnswerGoesBack(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		p := stage.Posts(t, 1, stage.Sure)[0]
		m := redlatch.NewMulti(fixture.Mutexes(p.Client, "a", "b", "c")...)
		_ = check.Must(m.Lock(ctx)).Unlock(ctx)
		p.Set(func(commands []driver.Command, send stage.Sender) []driver.Reply {
			if !togetherOf(commands, "a", "b", "c") {
				return send(commands...)
			}
			send(commands...)
			return stage.FailAll(commands, stage.ErrCut)
		})
		limited, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := m.TryLock(limited)
		if err == nil || errors.Is(err, redlatch.ErrUnknownOutcome) {
			t.Error("TryLock:", err)
		}
		if keys := p.Memory.Miniredis().Keys(); len(keys) > 0 {
			t.Errorf("after %v, %v are locked", err, keys)
		}
	})
}

// A lease that is too short for its servers is tried for as long as the caller waits.
func TestLongAMultiBeginsAgainAsOftenAsItMust(t *testing.T) {
	t.Parallel()
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		locks, leave := stage.FarLocks(ctx, 2)
		defer leave()
		limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
		defer cancel()
		_, err := redlatch.NewMulti(locks...).Lock(limited, redlatch.WithMaxHold(310*time.Millisecond))
		check.Is(t, "Lock", err, context.DeadlineExceeded)
	})
}

// The caller leaves while a server refuses a member: the error says which.
func TestAMemberThatIsRefusedAtTheEndIsNamed(t *testing.T) {
	stage.Bubble(t, func(t *testing.T, ctx context.Context) {
		all := stage.Posts(t, 2, stage.Sure)
		limited, cancel := context.WithCancel(ctx)
		all[1].Set(func(commands []driver.Command, _ stage.Sender) []driver.Reply {
			cancel()
			time.Sleep(time.Millisecond)
			return stage.FailAll(commands, &driver.ServerError{Message: "ERR out of order"})
		})
		_, err := redlatch.NewMulti(all[0].Client.Mutex("a{x}"), all[1].Client.Mutex("b{x}")).Lock(limited)
		var refused *driver.ServerError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), `lock "b{x}"`) {
			t.Errorf("Lock is %v, want a ServerError that names the member", err)
		}
	})
}
