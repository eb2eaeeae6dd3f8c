//go:build unix

package supervise

import (
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"
)

// What one process writes is the same moment for another, however late it is read.
func TestALateOrderProlongsNothing(t *testing.T) {
	t.Parallel()
	deadline := time.Now().Add(time.Minute)
	reader, writer := io.Pipe()
	o := &orders{done: make(chan struct{}), news: make(chan struct{}, 1)}
	go o.read(json.NewDecoder(reader))
	late := order{Deadline: instantOf(deadline)}
	time.Sleep(500 * time.Millisecond) // the writer is paused
	json.NewEncoder(writer).Encode(late)
	<-o.news
	if got := o.Deadline(); got.After(deadline) || got.Before(deadline.Add(-250*time.Millisecond)) {
		t.Errorf("the deadline moved by %v", got.Sub(deadline))
	}
	writer.Close()
	<-o.done
	if o.why != alone {
		t.Errorf("the end of the pipe means %q", o.why)
	}
}

// A suspension stops the clock of the process, and not the two of an instant. One of them may
// have been set.
func TestAnInstantIsOverWhenEitherClockSaysSo(t *testing.T) {
	t.Parallel()
	now := instantOf(time.Now())
	for what, c := range map[string]struct {
		instant
		left time.Duration
	}{
		"both later":    {instant{now.Boot + int64(time.Hour), now.Wall + int64(time.Hour)}, time.Hour},
		"boot is over":  {instant{now.Boot - int64(time.Second), now.Wall + int64(time.Hour)}, -time.Second},
		"wall is over":  {instant{now.Boot + int64(time.Hour), now.Wall - int64(time.Second)}, -time.Second},
		"wall set back": {instant{now.Boot + int64(time.Second), now.Wall + int64(time.Hour)}, time.Second},
	} {
		if left := time.Until(c.time()); left > c.left || left < c.left-5*time.Second {
			t.Errorf("%s: %v are left, want %v", what, left, c.left)
		}
	}
	moved := wallOn(time.Now(), -time.Hour) // the deadline of a hold whose machine was suspended since
	if left := time.Until(instantOf(moved).time()); left > -time.Hour {
		t.Errorf("by the wall clock it was over an hour ago: %v are left", left)
	}
}

// Goal: the switch learns of a longer lease whatever it has heard before of the deadline that came with it. Method: the
// holder sees that deadline first.
func TestALongerLeaseIsToldAfterItsDeadlineToo(t *testing.T) {
	t.Parallel()
	ours, theirs, err := pipes()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.close()
	hold := &toldHold{deadline: time.Now().Add(8 * time.Second), done: make(chan struct{})}
	h := newHolder(hold, Limits{Lease: time.Second}, ours)
	h.follow()
	h.times.grow(8*time.Second, 0)
	h.follow()
	h.follow()
	h.close()
	var told []time.Duration
	for o, orders := (order{}), json.NewDecoder(theirs.in); orders.Decode(&o) == nil; {
		told = append(told, o.Lease)
	}
	if !slices.Equal(told, []time.Duration{time.Second, 8 * time.Second}) {
		t.Errorf("the switch was told leases of %v", told)
	}
}

// limitedHold has a limit, and a deadline that a renewal moves.
type limitedHold struct {
	toldHold
	limit time.Time
}

func (h *limitedHold) Limit() time.Time { return h.limit }

// Goal: the limit explains only an end that comes when it is near, whatever was confirmed later.
func TestALimitExplainsOnlyAnEndThatComesWithIt(t *testing.T) {
	t.Parallel()
	times, now := newSchedule(4*time.Second, time.Second), bootTime()
	for left, want := range map[time.Duration]bool{-time.Minute: true, 1440 * time.Millisecond: true, 1600 * time.Millisecond: false, time.Minute: false} {
		if got := atLimit(&limitedHold{limit: time.Now().Add(left)}, times, now); got != want {
			t.Errorf("%v before the limit: %v", left, got)
		}
	}
	if atLimit(&limitedHold{}, times, now) || atLimit(&toldHold{}, times, now) {
		t.Error("a hold without a limit has come to it")
	}
}
