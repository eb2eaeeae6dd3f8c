package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/internal/redistest"
)

func publish(t *testing.T, d driver.Driver, channel, payload string) (receivers int64) {
	t.Helper()
	return do(t, d, command("PUBLISH", channel, payload)).Int
}

// acknowledgementsComeBeforeMessages publishes without a break while channels
// are subscribed to, one after another.
func acknowledgementsComeBeforeMessages(t *testing.T, d driver.Driver) {
	prefix := unique()
	channel := func(i int) string { return prefix + strconv.Itoa(i) }
	const channels = 20
	var enough atomic.Bool
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for i := 0; !enough.Load(); i++ {
			d.Do(context.Background(), command("PUBLISH", channel(i%channels), "x"))
		}
	})
	defer publisher.Wait()
	defer enough.Store(true)

	l := drivercheck.Record(t, d)
	for i := range channels {
		if err := l.Subscribe(t.Context(), channel(i)); err != nil {
			t.Fatal(err)
		}
	}
	l.Await(t, channel(channels-1)+" x", 1)
	lines := l.Lines()
	for i := range channels {
		acknowledged := slices.Index(lines, "+"+channel(i))
		message := slices.Index(lines, channel(i)+" x")
		if message >= 0 && (acknowledged < 0 || acknowledged > message) {
			t.Errorf("channel %d: acknowledged as event %d, first message event %d", i, acknowledged, message)
		}
	}
}

func messagesComeInOrder(t *testing.T, d driver.Driver) {
	channel := unique()
	l := drivercheck.RecordAcknowledged(t, d, channel)
	const messages = 1000
	want := []string{"+" + channel}
	for i := range messages {
		// redlatch publishes from scripts.
		do(t, d, eval("return redis.call('publish', KEYS[1], ARGV[1])", channel, strconv.Itoa(i)))
		want = append(want, fmt.Sprint(channel, " ", i))
	}
	l.Await(t, want[messages], 1)
	if got := l.Lines(); !slices.Equal(got, want) {
		t.Errorf("the order is not that of publishing: %q", got)
	}
}

func thousandChannels(t *testing.T, d driver.Driver) {
	prefix := "{" + unique() + "}" // one slot, or no order could be expected
	var channels, want []string
	for i := range 1000 {
		channels = append(channels, prefix+strconv.Itoa(i))
	}
	l := drivercheck.RecordAcknowledged(t, d, channels[0])
	if err := l.Subscribe(t.Context(), channels[1:]...); err != nil {
		t.Fatal(err)
	}
	l.Await(t, "+"+channels[len(channels)-1], 1)
	for _, channel := range channels {
		want = append(want, "+"+channel)
	}
	for i := range channels {
		channel := channels[len(channels)-1-i]
		publish(t, d, channel, "x")
		want = append(want, channel+" x")
	}
	l.Await(t, want[len(want)-1], 1)
	if got := l.Lines(); !slices.Equal(got, want) {
		t.Errorf("%d events, not the %d expected", len(got), len(want))
	}
	if err := l.Unsubscribe(t.Context(), channels...); err != nil {
		t.Fatal(err)
	}
}

func unsubscribedChannelsAreSilent(t *testing.T, d driver.Driver) {
	dropped, kept := unique(), unique()
	l := drivercheck.RecordAcknowledged(t, d, dropped, kept)
	if err := l.Unsubscribe(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	// None at all names no channel, and must not mean all of them.
	if err := l.Unsubscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := l.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	awaitReceivers(t, d, dropped, 0)
	publish(t, d, dropped, "lost")
	publish(t, d, kept, "found")
	l.Await(t, kept+" found", 1)
	if lines := l.Lines(); slices.Contains(lines, dropped+" lost") {
		t.Errorf("events: %q", lines)
	}
	if lines := l.Lines(); len(lines) != 3 {
		t.Errorf("events: %q, want two acknowledgements and a message", lines)
	}
	// Again, after the last channel has gone as well.
	if err := l.Unsubscribe(t.Context(), kept, dropped); err != nil {
		t.Fatal(err)
	}
	if err := l.Subscribe(t.Context(), dropped); err != nil {
		t.Fatal(err)
	}
	awaitReceivers(t, d, dropped, 1)
	publish(t, d, dropped, "back")
	l.Await(t, dropped+" back", 1)
}

// awaitReceivers waits until a channel has so many subscribers.
func awaitReceivers(t *testing.T, d driver.Driver, channel string, want int64) {
	t.Helper()
	redistest.Eventually(t, slow, func() bool {
		return do(t, d, driver.Command{Words: []string{"PUBSUB", "NUMSUB", channel}, Key: channel}).Array[1].Int == want
	}, fmt.Sprintf("%s has %d subscribers", channel, want))
}

// closedListenerIsSilent closes a listener in the middle of a stream of messages.
func closedListenerIsSilent(t *testing.T, d driver.Driver) {
	channel := unique()
	var closed atomic.Bool
	var late atomic.Int64
	var first atomic.Bool
	l := listen(t, d, driver.Events{Message: func(string, string) {
		first.Store(true)
		time.Sleep(50 * time.Microsecond) // so that some messages wait to be delivered
		if closed.Load() {
			late.Add(1)
		}
	}})
	if err := l.Subscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	var enough atomic.Bool
	var publisher sync.WaitGroup
	publisher.Go(func() {
		batch := slices.Repeat([]driver.Command{command("PUBLISH", channel, strings.Repeat("x", 100))}, 100)
		for !enough.Load() {
			d.Pipeline(context.Background(), batch...)
		}
	})
	defer publisher.Wait()
	defer enough.Store(true)

	redistest.Eventually(t, slow, first.Load, "the first message")
	if isDone(l) {
		t.Fatal("Done is closed although the listener is not")
	}
	l.Close()
	closed.Store(true)
	if !isDone(l) {
		t.Error("Done is not closed after Close")
	}
	l.Close()
	awaitReceivers(t, d, channel, 0)
	publish(t, d, channel, "late")
	if n := late.Load(); n > 0 {
		t.Errorf("%d messages after Close", n)
	}
	if err := l.Subscribe(t.Context(), channel); err == nil {
		t.Error("Subscribe succeeded after Close")
	}
}

func closeEndsTheListeners(t *testing.T, d driver.Driver) {
	a, b := listen(t, d, driver.Events{}), listen(t, d, driver.Events{})
	a.Close()
	d.Close()
	drivercheck.Within(t, b.Done(), "the end of the listener")
}

// listenersDoWithoutFunctions: nil means that nobody is interested.
func listenersDoWithoutFunctions(t *testing.T, d driver.Driver) {
	channel := unique()
	l := listen(t, d, driver.Events{})
	if err := l.Subscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	awaitReceivers(t, d, channel, 1)
	publish(t, d, channel, "x")
	if err := l.Unsubscribe(t.Context(), channel); err != nil {
		t.Fatal(err)
	}
	if isDone(l) {
		t.Error("the listener has ended")
	}
}

func isDone(l driver.Listener) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}
