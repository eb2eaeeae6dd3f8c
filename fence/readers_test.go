package fence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/fence"
	"github.com/redlatch/redlatch/fence/internal/fencetest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the documented rule for the holders of a read lock. Each has a token of its own,
// so the guard refuses the older one. A hold that is still valid after the refusal tells it
// that another reader was faster; one that is not tells it that it is late.
func TestAReaderTellsAnotherReaderFromAWriter(t *testing.T) {
	t.Parallel()
	d, err := memory.Open(t.Context(), memory.Options{})
	must(t, err)
	t.Cleanup(d.Close)
	one, other := readersClient(t, d), readersClient(t, d)
	guard, name := fence.Redis{Driver: d}, redistest.Name(t)
	take := func(lock redlatch.Lock) *redlatch.Hold {
		hold, err := lock.Lock(t.Context(), redlatch.WithFencing())
		must(t, err)
		return hold
	}
	pass := func(hold *redlatch.Hold) error { return guard.Pass(t.Context(), hold.Token(), name) }

	writer := take(one.RWMutex(name))
	must(t, pass(writer))
	must(t, writer.Unlock(t.Context()))
	older, newer := take(one.RWMutex(name).RLocker()), take(other.RWMutex(name).RLocker())
	must(t, pass(newer))
	if err := pass(older); !errors.Is(err, fence.ErrStale) || !older.Valid() {
		t.Errorf("the older reader: %v, valid %v", err, older.Valid())
	}
	fencetest.WantStale(t, pass(writer), writer.Token(), newer.Token())

	must(t, older.Unlock(t.Context()))
	must(t, newer.Unlock(t.Context()))
	next := take(other.RWMutex(name))
	must(t, pass(next))
	if err := pass(older); !errors.Is(err, fence.ErrStale) || older.Valid() {
		t.Errorf("a reader that is late: %v, valid %v", err, older.Valid())
	}
	must(t, next.Unlock(t.Context()))
}

func readersClient(t *testing.T, d *memory.Driver) *redlatch.Client {
	t.Helper()
	c, err := redlatch.New(d, redlatch.Config{})
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}
