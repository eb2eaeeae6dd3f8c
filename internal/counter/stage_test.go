package counter

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/lock"
)

// The settings of all managers here.
const (
	bound   = 3 * time.Second // of a request
	pollCap = 5 * time.Second
)

// stage is a server in a bubble of fake time, and two clients of it. The faults meet the first one.
type stage struct {
	*testing.T
	*embedded.Spoiled
	mine, others *Counters
}

// story runs on a stage. At its end no request of a client has a slot any more.
func story(t *testing.T, tell func(s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		d, err := embedded.OpenSpoiled(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s := &stage{T: t, Spoiled: d, mine: newCounters(d, bound), others: newCounters(d.Driver, bound)}
		defer func() {
			d.Spoil(nil)
			for _, c := range []*Counters{s.mine, s.others} {
				if err := c.manager.Close(ctx); err != nil {
					t.Error("close:", err)
				}
				if len(c.free) != c.most {
					t.Errorf("of %d slots %d are free at the end", c.most, len(c.free))
				}
			}
		}()
		tell(s)
	})
}

func newCounters(d driver.Driver, release time.Duration) *Counters {
	return New(lock.New(lock.Settings{
		Driver: d, Lease: 30 * time.Second, RenewInterval: 10 * time.Second, FairWait: time.Minute,
		PollCap: pollCap, CommandTimeout: bound, ReleaseTimeout: release, Logger: slog.New(slog.DiscardHandler),
	}), bound)
}

// limited is a context that ends within an hour. In a bubble, a wait without an end takes real time.
func (s *stage) limited() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	s.Cleanup(cancel)
	return ctx
}

// with gives the counter a number.
func (s *stage) with(key, number string) {
	s.Helper()
	if err := s.Miniredis().Set(key, number); err != nil {
		s.Fatal(err)
	}
}

// number is the number of a counter.
func (s *stage) number(key string) string {
	text, _ := s.Miniredis().Get(key)
	return text
}

// then has each of the next commands meet a fate of its own, and all behind them the last one. It
// counts the commands.
func (s *stage) then(fates ...embedded.Fate) *atomic.Int64 {
	sent := new(atomic.Int64)
	s.Spoil(func(ctx context.Context, words []string, send func() driver.Reply) driver.Reply {
		return fates[min(int(sent.Add(1)), len(fates))-1](ctx, words, send)
	})
	return sent
}

func arrives(_ context.Context, _ []string, send func() driver.Reply) driver.Reply { return send() }

// answers has a command arrive nowhere, and be answered by an error of the server.
func answers(message string) embedded.Fate {
	return func(context.Context, []string, func() driver.Reply) driver.Reply {
		return driver.Reply{Err: &driver.ServerError{Message: message}}
	}
}

// cancels says that a command is the cancellation of a request, and no acquisition: it tells a channel.
func cancels(words []string, s Semaphore) bool { return slices.Contains(words, s.channel) }
