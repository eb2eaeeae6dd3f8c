package drivercheck

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Recorder is a listener and what it has received, as lines: "+channel" and "channel payload".
type Recorder struct {
	driver.Listener
	mu    sync.Mutex
	lines []string
}

// Record listens to channels, and waits for nothing.
func Record(t *testing.T, d driver.Driver, channels ...string) *Recorder {
	t.Helper()
	r := &Recorder{}
	r.Listener = Listen(t, d, driver.Events{
		Subscribed: func(channel string) { r.Add("+" + channel) },
		Message:    func(channel, payload string) { r.Add(channel + " " + payload) },
	})
	if err := r.Subscribe(t.Context(), channels...); err != nil {
		t.Fatal(err)
	}
	return r
}

// RecordAcknowledged listens to channels, and waits until they are acknowledged.
func RecordAcknowledged(t *testing.T, d driver.Driver, channels ...string) *Recorder {
	t.Helper()
	r := Record(t, d, channels...)
	for _, channel := range channels {
		r.Await(t, "+"+channel, 1)
	}
	return r
}

// Add notes a line.
func (r *Recorder) Add(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

// Lines are what was received.
func (r *Recorder) Lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}

// Count is how often a line is there.
func (r *Recorder) Count(line string) (n int) {
	for _, l := range r.Lines() {
		if l == line {
			n++
		}
	}
	return n
}

// Await waits until a line is there for the nth time.
func (r *Recorder) Await(t *testing.T, line string, n int) {
	t.Helper()
	redistest.Eventually(t, Later, func() bool { return r.Count(line) >= n }, fmt.Sprintf("%q for the %dth time", line, n))
}

// Reset forgets what was received.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = nil
}

// PublishBoth publishes in both ways, by one script.
func PublishBoth(t *testing.T, d driver.Driver, channel, payload string) {
	t.Helper()
	script := driver.Command{Words: []string{"EVAL", `
		redis.call('spublish', KEYS[1], ARGV[1] .. '-shard')
		redis.call('publish', KEYS[1], ARGV[1] .. '-all')`, "1", channel, payload}, Key: channel}
	redistest.Eventually(t, Soon, func() bool { return d.Do(t.Context(), script).Err == nil }, "the script runs")
}

// Receives checks that both messages arrive once, in their order, on every channel.
func (r *Recorder) Receives(t *testing.T, d driver.Driver, payload string, channels ...string) {
	t.Helper()
	for _, channel := range channels {
		shard, all := channel+" "+payload+"-shard", channel+" "+payload+"-all"
		PublishBoth(t, d, channel, payload)
		r.Await(t, all, 1)
		if lines := r.Lines(); slices.Index(lines, shard) < 0 || slices.Index(lines, shard) > slices.Index(lines, all) || r.Count(all) != 1 || r.Count(shard) != 1 {
			t.Errorf("channel %s: the script's messages did not arrive once and in their order: %q", channel, lines)
		}
	}
}

// ChannelsAt returns a channel at each of the first masters.
func ChannelsAt(t *testing.T, c *redistest.Cluster, masters int) (channels []string) {
	t.Helper()
	for _, s := range c.Servers[:masters] {
		channels = append(channels, c.KeyAt(t, s))
	}
	return channels
}
