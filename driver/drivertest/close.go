package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// closeEndsCallsUnderWay has the server hold replies back. The witness, another
// connection, sees when the commands have arrived there.
func closeEndsCallsUnderWay(t *testing.T, d, witness driver.Driver) {
	defer witness.Close()
	key := unique()
	failed := make(chan error, 3)
	call := func(ctx context.Context, send func(context.Context, ...driver.Command) []driver.Reply) {
		replies := send(ctx, command("INCR", key), command("BLPOP", "{"+key+"}", "5"))
		failed <- replies[1].Err
	}
	go call(context.Background(), d.Pipeline)
	go call(context.Background(), d.DedicatedPipeline)
	awaitValue(t, witness, key, "2")
	go call(t.Context(), d.Pipeline) // it waits behind the first, or fails with it
	begin := time.Now()
	d.Close()
	for range cap(failed) {
		if err := <-failed; err == nil {
			t.Error("a call outlived the driver")
		}
	}
	if took := time.Since(begin); took > promptly {
		t.Errorf("it took %v", took)
	}
}

func nothingWorksAfterClose(t *testing.T, d driver.Driver) {
	listener, err := d.Listen(t.Context(), driver.Events{})
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	d.Close()
	if reply := d.Do(t.Context(), command("PING")); !errors.Is(reply.Err, driver.ErrNotSent) {
		t.Errorf("Do: %+v, want ErrNotSent", reply)
	}
	for name, send := range pipelines(d) {
		for _, reply := range send(t.Context(), command("PING"), command("PING")) {
			if !errors.Is(reply.Err, driver.ErrNotSent) {
				t.Errorf("%s: %+v, want ErrNotSent", name, reply)
			}
		}
	}
	if _, err := d.Listen(t.Context(), driver.Events{}); !errors.Is(err, driver.ErrNotSent) {
		t.Errorf("Listen: %v, want ErrNotSent", err)
	}
	if err := listener.Subscribe(t.Context(), unique()); err == nil {
		t.Error("Subscribe succeeded")
	}
	if err := listener.Unsubscribe(t.Context(), unique()); err == nil {
		t.Error("Unsubscribe succeeded")
	}
	listener.Close()
}
