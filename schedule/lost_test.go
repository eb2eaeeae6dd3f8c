package schedule_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/schedule"
)

// forgetful loses the replies to notes of times that are run, while lost is set.
type forgetful struct {
	driver.Driver
	lost atomic.Bool
}

func (d *forgetful) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

func (d *forgetful) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	replies := d.Driver.Pipeline(ctx, commands...)
	for i, c := range commands {
		if c.Key == protocol.RunsKey("job") && len(c.Words) > 5 && d.lost.Load() { // a question has no token
			replies[i] = driver.Reply{Err: errors.New("the reply is lost")}
		}
	}
	return replies
}

// Goal: a machine whose note that it runs a time was not answered runs that time, if it can in time. It does not take its own
// note for that of another machine.
func TestANoteWithoutAnAnswerIsNoRunOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, err := memory.Open(t.Context(), memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		lossy := &forgetful{Driver: d}
		client, err := redlatch.New(lossy, redlatch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close(context.Background()) }()
		f := newFleet(nil, 0, 0)
		m := f.add(client, 0)
		lossy.lost.Store(true)
		f.start(t)
		time.Sleep(time.Minute + 3500*time.Millisecond)
		lossy.lost.Store(false)
		time.Sleep(30 * time.Second)
		m.stop()
		if err := <-m.done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		m.done <- nil
		if other := m.seen(schedule.Elsewhere); len(other) > 0 {
			t.Errorf("left to another machine: %+v", other)
		}
		f.once(t, 1)
	})
}
