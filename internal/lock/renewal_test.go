package lock

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/renew"
)

// Goal: a proxy that refuses requests for several slots refuses one of a client, and not each renewal anew. Method:
// it refuses every script with several keys.
func TestARefusalOfSeveralSlotsIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d, err := embedded.OpenSpoiled(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		m := New(Settings{
			Driver: d, Lease: 30 * time.Second, RenewInterval: 10 * time.Second, FairWait: 5 * time.Minute,
			PollCap: 5 * time.Second, CommandTimeout: 3 * time.Second, ReleaseTimeout: 3 * time.Second,
			Logger: slog.New(slog.DiscardHandler),
		})
		var refused atomic.Int64
		d.Spoil(func(_ context.Context, words []string, send func() driver.Reply) driver.Reply {
			if strings.HasPrefix(words[0], "EVAL") && words[2] != "1" {
				refused.Add(1)
				return driver.Reply{Err: &driver.ServerError{Message: "CROSSSLOT Keys in request don't hash to the same slot"}}
			}
			return send()
		})
		var holds []*Hold
		for _, name := range []string{"a", "b"} {
			ref := m.Mutex(name)
			h, err := ref.Acquire(ctx, m.Plain(0))
			if err != nil {
				t.Fatal(err)
			}
			holds = append(holds, h)
		}
		time.Sleep(5 * time.Minute)
		if n := refused.Load(); n != 1 {
			t.Errorf("%d requests were refused", n)
		}
		for _, h := range holds {
			if err := h.Err(); err != nil {
				t.Error(err)
			}
			if err := h.Unlock(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := m.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// The engine has decided to renew a grant, which is lost before the request is made.
func TestALostGrantIsNotRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, manager := inProcess(t)
		defer d.Close()
		m, ctx := manager(), context.Background()
		r := m.Mutex("job")
		h, err := r.Acquire(ctx, &Options{Lease: 30 * time.Second, Wait: Forever})
		if err != nil {
			t.Fatal(err)
		}
		g := h.grant()
		batch := []renew.Renewal{{Item: &g.Item, Term: g.Term()}}
		g.Lost(renew.ErrExpired)
		before := d.Miniredis().TTL("job")
		time.Sleep(time.Second)
		m.renew(ctx, batch)
		if left := d.Miniredis().TTL("job"); left >= before {
			t.Errorf("nobody holds the lock, and it stays for %v", left)
		}
		_ = m.Close(ctx)
	})
}
