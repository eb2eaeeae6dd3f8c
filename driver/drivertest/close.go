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
	failed := make(chan error, 2)
	call := func(ctx context.Context) {
		replies := d.Pipeline(ctx, command("INCR", key), command("BLPOP", unique(), "5"))
		failed <- replies[1].Err
	}
	go call(context.Background())
	for do(t, witness, command("GET", key)).IsNil {
		time.Sleep(time.Millisecond)
	}
	go call(t.Context()) // it queues up behind the first, or shares its fate
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
	for _, reply := range d.Pipeline(t.Context(), command("PING"), command("PING")) {
		if !errors.Is(reply.Err, driver.ErrNotSent) {
			t.Errorf("Pipeline: %+v, want ErrNotSent", reply)
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
