package goredis_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/goredis"
	"github.com/redlatch/redlatch/redlatchtest"
)

// Goal: an application tests its own client on the server of redlatchtest, with every fault, in fake time. Method:
// locks and the application's own commands, in one bubble after another, because bubbles can share no timers. The
// address is no name: go-redis 9.23 looks a name up, and Go's resolver has a channel outside of the bubble.
func TestTheApplicationsClientRunsOnTheServerOfTests(t *testing.T) {
	t.Parallel()
	for _, protocol := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			s := redlatchtest.NewServer(t)
			rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: s.Dial, Protocol: protocol})
			defer func() { _ = rdb.Close() }()
			d, err := goredis.New(rdb)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			client, err := redlatch.New(d, redlatch.Config{Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close(context.Background()) }()
			for _, c := range []struct {
				name  string
				fault func() (end func())
			}{
				{"lose", func() func() { s.Lose("job"); return func() {} }},
				{"freeze", s.Freeze},
				{"deny", func() func() { return s.Deny() }},
			} {
				began := time.Now()
				hold, err := client.Mutex("job").Lock(t.Context())
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				end := c.fault()
				<-hold.Done()
				if took := time.Since(began); !errors.Is(hold.Err(), redlatch.ErrLost) || took > 30*time.Second {
					t.Errorf("%s: the hold ended after %v: %v", c.name, took, hold.Err())
				}
				if err := rdb.Set(t.Context(), "data", c.name, 0).Err(); (err == nil) != (c.name == "lose") {
					t.Errorf("%s: the application's own command: %v", c.name, err)
				}
				end()
			}
			wakesAcross(t, s.Client(redlatch.Config{}), client)
		})
	}
}

// wakesAcross fails if a waiter of one client is not woken by a release of the other one.
func wakesAcross(t *testing.T, holder, waiter *redlatch.Client) {
	t.Helper()
	hold, err := holder.Mutex("shared").Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(time.Second, func() { _ = hold.Unlock(context.Background()) })
	began := time.Now()
	if _, err := waiter.Mutex("shared").Lock(t.Context()); err != nil || time.Since(began) > 1100*time.Millisecond {
		t.Errorf("the waiter was served after %v: %v", time.Since(began), err)
	}
}
