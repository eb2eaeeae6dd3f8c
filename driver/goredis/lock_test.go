package goredis_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: locks work on each kind of client, and replies that are lost cost nobody the exclusion. Method:
// goroutines of several clients increment a number that only the lock guards.
func TestLocksExcludeEachOther(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	watcher := redistest.StartSentinel(t)
	watcher.Watch(t, "locks", server.Addr(), 1)
	for kind, client := range map[string]redis.UniversalClient{
		"client":   dial(t, eager(proxy.Addr())),
		"sentinel": until(t, redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "locks", SentinelAddrs: []string{watcher.Addr()}})),
		"cluster":  clusterClient(t, redis.ClusterOptions{Addrs: redistest.SharedCluster(t).Addrs()}),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const clients, goroutines, each = 3, 4, 10
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			name, number := redistest.Name(t), 0
			var all sync.WaitGroup
			for range clients {
				c, err := redlatch.New(open(t, client), redlatch.Config{LeaseTime: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close(context.Background()) })
				for range goroutines {
					all.Go(func() {
						for range each {
							err := redlatch.Do(ctx, c.Mutex(name), func(context.Context, *redlatch.Hold) error {
								number++ // the race detector sees whether this is guarded
								return nil
							})
							if err != nil {
								t.Error(err)
							}
						}
					})
				}
			}
			if kind == "client" {
				proxy.DropReplies(5, redistest.Containing("EVALSHA"))
			}
			all.Wait()
			if want := clients * goroutines * each; number != want {
				t.Errorf("the number is %d, want %d", number, want)
			}
		})
	}
}
