package faults_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// TestAThousandAcquisitionsCancelledInFlight cancels at every stage of the way.
func TestAThousandAcquisitionsCancelledInFlight(t *testing.T) {
	fixture.EachServer(t, func(t *testing.T, url string) {
		c, d, name := fixture.Open(t, url, redlatch.Config{}), fixture.Raw(t, url), redistest.Name(t)
		var wg sync.WaitGroup
		slots := make(chan struct{}, 50)
		for i := range 1000 {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				defer cancel()
				h, err := c.Mutex(fmt.Sprint(name, i%7)).Lock(ctx)
				if err == nil {
					if err := h.Unlock(ctx); err != nil {
						t.Error("Unlock:", err)
					}
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error("Lock:", err)
				}
			})
		}
		wg.Wait()
		redistest.Eventually(t, 5*time.Second, func() bool {
			for i := range 7 {
				if fixture.Do(t, d, "EXISTS", fmt.Sprint(name, i)).Int != 0 {
					return false
				}
			}
			return true
		}, "nothing is held")
		if s := c.Stats(); s.Holds != 0 || s.Waiters != 0 || s.Renewals != 0 {
			t.Errorf("left over: %+v", s)
		}
	})
}

func TestLongRepliesThatARealServerGaveAndAProxyDropped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	c := fixture.Open(t, proxy.URL(), redlatch.Config{})
	ctx, m := c.WithOwner(t.Context()), c.Mutex("job")
	for range 20 {
		proxy.DropReplies(1, redistest.Containing("EVALSHA"))
		outer, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		proxy.DropReplies(1, redistest.Containing("EVALSHA"))
		inner, err := m.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if status := check.Must(m.Status(ctx)); len(status.Holders) != 1 || status.Holders[0].Count != 2 {
			t.Fatalf("status is %+v, want one holder with 2", status)
		}
		for i, command := range []string{"EVALSHA", "HDEL"} {
			h := []*redlatch.Hold{inner, outer}[i]
			proxy.DropReplies(1, redistest.Containing(command))
			if err := h.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if status := check.Must(m.Status(ctx)); status.Locked {
			t.Fatalf("status is %+v, want free", status)
		}
	}
}
