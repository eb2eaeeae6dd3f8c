package schedule_test

import (
	"context"
	"errors"
	"slices"
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
	onDriver(t, 1, func(d driver.Driver) driver.Driver { return &forgetful{Driver: d} }, func(d driver.Driver) {
		d.(*forgetful).lost.Store(true)
		time.Sleep(time.Minute + 3500*time.Millisecond)
		d.(*forgetful).lost.Store(false)
	})
}

// onDriver runs a job on one machine, whose driver a test makes, for 90 seconds. The time of a minute is run, or missed, and left
// to nobody.
func onDriver(t *testing.T, runs int, around func(driver.Driver) driver.Driver, tell func(driver.Driver)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, err := memory.Open(t.Context(), memory.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		d := around(m)
		client, err := redlatch.New(d, redlatch.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close(context.Background()) }()
		f := newFleet(nil, 0, 0)
		one, began := f.add(client, 0), time.Now()
		one.job.AtLeast = 30 * time.Second
		f.start(t)
		tell(d)
		time.Sleep(90*time.Second - time.Since(began))
		one.stop()
		if err := <-one.done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		one.done <- nil
		if other := one.seen(schedule.Elsewhere); len(other) > 0 {
			t.Errorf("left to another machine: %+v", other)
		}
		if missed := one.seen(schedule.Missed); len(missed) != 1-runs {
			t.Errorf("missed: %+v", missed)
		}
		f.once(t, runs)
	})
}

// cut is a driver whose server goes away for a while as soon as it has granted the lock for the first time.
type cut struct {
	driver.Driver
	away  time.Duration
	until atomic.Pointer[time.Time]
}

func (d *cut) Do(ctx context.Context, c driver.Command) driver.Reply { return d.Pipeline(ctx, c)[0] }

func (d *cut) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	until := d.until.Load()
	if until != nil && time.Now().Before(*until) {
		return slices.Repeat([]driver.Reply{{Err: driver.ErrNotSent}}, len(commands))
	}
	replies := d.Driver.Pipeline(ctx, commands...)
	if until == nil && commands[0].Key == "job" && replies[0].Err == nil && len(replies[0].Array) == 1 {
		back := time.Now().Add(d.away)
		d.until.Store(&back)
		replies[0] = driver.Reply{Err: errors.New("the reply is lost")}
	}
	return replies
}

// Goal: a machine does not take a lock that it was granted without an answer for that of another machine.
func TestALockWithoutAnAnswerIsNoRunOfAnother(t *testing.T) {
	t.Parallel()
	for range 100 {
		onDriver(t, 1, func(d driver.Driver) driver.Driver { return &cut{Driver: d, away: 3500 * time.Millisecond} }, func(driver.Driver) {})
	}
	// The release of what may have been granted is given up. So the lock stays for its lease.
	onDriver(t, 0, func(d driver.Driver) driver.Driver { return &cut{Driver: d, away: 8 * time.Second} }, func(driver.Driver) {})
}
