package rueidis_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	redis "github.com/redis/rueidis"
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
)

// hotPath is a command as locks send it: a script, two keys, three arguments.
func hotPath(t testing.TB, server *redistest.Server) driver.Command {
	digest := server.CLI(t, "SCRIPT", "LOAD", "return 1").(string)
	return driver.Command{Words: []string{
		"EVALSHA", digest, "2", "lock:{order:1001}", "redlatch:channel:{order:1001}",
		"30000", "6f1c2a9e-0d6b-4f0e-9a51-2f5d0c7e8b13:42", "1",
	}}
}

// raw is rueidis itself, with one connection as the driver has.
func raw(t testing.TB, server *redistest.Server) redis.Client {
	client := redistest.Must(redis.NewClient(redis.ClientOption{
		InitAddress: []string{server.Addr()}, ForceSingleClient: true, DisableRetry: true,
		DisableCache: true, AlwaysRESP2: true, PipelineMultiplex: -1,
	}))
	t.Cleanup(client.Close)
	return client
}

// TestCostsLittleMoreThanRueidis is not parallel: it counts the allocations of
// the whole process.
func TestCostsLittleMoreThanRueidis(t *testing.T) {
	if drivercheck.RaceEnabled {
		t.Skip("the race detector allocates, too")
	}
	server := redistest.Start(t)
	client, d := raw(t, server), open(t, rueidis.Options{Address: server.Addr()})
	one := hotPath(t, server)
	background := context.Background()
	cancellable, cancel := context.WithCancel(background)
	defer cancel()
	bounded, cancel := context.WithTimeout(background, soon)
	defer cancel()

	build := func() redis.Completed { return client.B().Arbitrary(one.Words...).Build() }
	bare := testing.AllocsPerRun(1000, func() { client.Do(background, build()) })
	barePipeline := testing.AllocsPerRun(1000, func() { client.DoMulti(background, build(), build()) })
	for _, c := range []struct {
		name  string
		call  func()
		limit float64
	}{
		{"Do", func() { d.Do(background, one) }, bare},
		{"Do with a cancellable context", func() { d.Do(cancellable, one) }, bare},
		{"Do with a deadline", func() { d.Do(bounded, one) }, bare + 1},
		// The commands and the replies are slices.
		{"Pipeline", func() { d.Pipeline(background, one, one) }, barePipeline + 2},
	} {
		if got := testing.AllocsPerRun(1000, c.call); got > c.limit {
			t.Errorf("%s: %v allocations, want %v at most", c.name, got, c.limit)
		}
	}
}

func BenchmarkDo(b *testing.B) {
	server := redistest.Shared(b)
	client, d := raw(b, server), open(b, rueidis.Options{Address: server.Addr()})
	one := hotPath(b, server)
	ctx := context.Background()
	calls := []struct {
		name string
		call func()
	}{
		{"rueidis", func() { client.Do(ctx, client.B().Arbitrary(one.Words...).Build()) }},
		{"driver", func() { d.Do(ctx, one) }},
		{"driver pipeline of two", func() { d.Pipeline(ctx, one, one) }},
	}
	for _, c := range calls {
		b.Run("alone/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.call()
			}
		})
	}
	for _, c := range calls {
		b.Run("512 callers/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(256)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.call()
				}
			})
		})
	}
}

// TestCostsOfAPair counts those of a lock that nobody else wants.
func TestCostsOfAPair(t *testing.T) {
	if drivercheck.RaceEnabled {
		t.Skip("the race detector allocates, too")
	}
	c, pairs := client(t), context.Background()
	kept := c.Mutex("order:1001")
	for name, p := range map[string]struct {
		pair  func()
		limit float64
	}{
		"a pair":                        {func() { pair(t, pairs, kept) }, 5},
		"a pair with a cancellable ctx": {func() { pair(t, t.Context(), kept) }, 6},
		"a pair of a mutex made for it": {func() { pair(t, pairs, c.Mutex("order:1001")) }, 8},
	} {
		if got := testing.AllocsPerRun(1000, p.pair); got > p.limit {
			t.Errorf("%s: %v allocations, want %v at most", name, got, p.limit)
		}
	}
}

func BenchmarkPair(b *testing.B) {
	m := client(b).Mutex("order:1001")
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			pair(b, context.Background(), m)
		}
	})
	b.Run("512 callers", func(b *testing.B) {
		b.ReportAllocs()
		c := client(b)
		b.SetParallelism(256)
		b.RunParallel(func(pb *testing.PB) {
			own := c.Mutex(redistest.Name(b) + strconv.Itoa(int(callers.Add(1))))
			for pb.Next() {
				pair(b, context.Background(), own)
			}
		})
	})
}

var callers atomic.Int64

func client(t testing.TB) *redlatch.Client {
	c := redistest.Must(redlatch.Open(context.Background(), redistest.Start(t).URL(), redlatch.Config{}))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func pair(t testing.TB, ctx context.Context, m *redlatch.Mutex) {
	h, err := m.Lock(ctx)
	if err == nil {
		err = h.Unlock(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
}
