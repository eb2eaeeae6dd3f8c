package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// awaitValue waits until a key has a value.
func awaitValue(t *testing.T, d driver.Driver, key, want string) {
	t.Helper()
	redistest.Eventually(t, slow, func() bool { return do(t, d, command("GET", key)).Str == want }, key+" is "+want)
}

// dedicatedPipelineHasOneConnection: a transaction is a state of the connection, so that
// it shows when other commands get in between.
func dedicatedPipelineHasOneConnection(t *testing.T, d driver.Driver) {
	if replies := d.DedicatedPipeline(t.Context()); len(replies) != 0 {
		t.Errorf("no commands have %d replies", len(replies))
	}
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			key := unique()
			word := func(w string) driver.Command { return driver.Command{Words: []string{w}, Key: key} }
			for i := range 5 {
				replies := d.DedicatedPipeline(t.Context(), word("MULTI"), command("INCR", key),
					command("LPUSH", key, "x"), command("INCR", key), word("EXEC"), command("LPUSH", key, "x"))
				var refused *driver.ServerError
				switch {
				case len(replies) != 6:
					t.Fatalf("6 commands have %d replies", len(replies))
				case len(replies[4].Array) != 3 || replies[4].Array[2].Int != int64(2*i+2):
					t.Errorf("the transaction's reply is %+v", replies)
				case !errors.As(replies[5].Err, &refused) || refused.Code() != "WRONGTYPE":
					t.Errorf("last reply %+v, want WRONGTYPE", replies[5])
				}
			}
		})
	}
	callers.Wait()
}

// nobodyWaitsBehindADedicatedPipeline has the server hold a reply back. The witness sees when
// the command has arrived there.
func nobodyWaitsBehindADedicatedPipeline(t *testing.T, d, witness driver.Driver) {
	defer witness.Close()
	key := unique()
	list := "{" + key + "}"
	replies := make(chan []driver.Reply, 1)
	go func() {
		replies <- d.DedicatedPipeline(context.Background(), command("INCR", key), command("BLPOP", list, "0"), command("INCR", key))
	}()
	awaitValue(t, witness, key, "1")
	for name, send := range pipelines(d) {
		ctx, cancel := context.WithTimeout(t.Context(), promptly)
		defer cancel()
		if reply := send(ctx, command("GET", key))[0]; reply.Str != "1" {
			t.Errorf("%s: reply %+v behind a command that blocks", name, reply)
		}
	}
	do(t, d, command("LPUSH", list, "x"))
	select {
	case r := <-replies:
		if len(r) != 3 || len(r[1].Array) != 2 || r[2].Int != 2 {
			t.Errorf("replies %+v", r)
		}
	case <-time.After(slow):
		t.Fatal("the command does not end although it has got what it waits for")
	}
}

// manyDedicatedPipelines: more than a driver may want to have connections for.
func manyDedicatedPipelines(t *testing.T, d driver.Driver) {
	key := unique()
	var callers sync.WaitGroup
	for range 40 {
		callers.Go(func() {
			for range 5 {
				if reply := d.DedicatedPipeline(t.Context(), command("INCR", key))[0]; reply.Err != nil {
					t.Error(reply.Err)
				}
			}
		})
	}
	callers.Wait()
	if got := do(t, d, command("GET", key)).Str; got != "200" {
		t.Errorf("%s increments arrived, want 200", got)
	}
}
