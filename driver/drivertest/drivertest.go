// Package drivertest holds the suite that every implementation of
// driver.Driver passes.
package drivertest

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
)

// promptly bounds what should happen at once. It is long because test machines
// are busy. It is shorter than slow, so that a test can distinguish the two.
const (
	promptly = 2 * time.Second
	slow     = 6 * time.Second
)

// Run checks a driver in one subtest for each promise. Every call of open must return a
// new driver for the same server, which must keep at least one megabyte of data. Run uses
// keys and channels of its own there, and closes the drivers. Their command timeout must be
// at least 2s.
func Run(t *testing.T, open func(t *testing.T) driver.Driver) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, d driver.Driver)
	}{
		{"replies of every kind", repliesOfEveryKind},
		{"binary data is kept", binaryDataIsKept},
		{"error replies are server errors", errorRepliesAreServerErrors},
		{"scripts run by their digest", scriptsRunByTheirDigest},
		{"pipelines keep their order", pipelinesKeepTheirOrder},
		{"an error does not stop a pipeline", errorDoesNotStopPipeline},
		{"long pipelines stay on one connection", longPipelinesStayOnOneConnection},
		{"big values", bigValues},
		{"many callers at once", manyCallersAtOnce},
		{"commands without a name are not sent", namelessCommandsAreNotSent},
		{"a dedicated pipeline has one connection", dedicatedPipelineHasOneConnection},
		{"nobody waits behind a dedicated pipeline", func(t *testing.T, d driver.Driver) { nobodyWaitsBehindADedicatedPipeline(t, d, open(t)) }},
		{"many dedicated pipelines at once", manyDedicatedPipelines},
		{"a context that is over sends nothing", contextThatIsOverSendsNothing},
		{"a context that ends ends the call", contextThatEndsEndsTheCall},
		{"close ends calls under way", func(t *testing.T, d driver.Driver) { closeEndsCallsUnderWay(t, d, open(t)) }},
		{"nothing works after close", nothingWorksAfterClose},
		{"acknowledgements come before messages", acknowledgementsComeBeforeMessages},
		{"messages come in order", messagesComeInOrder},
		{"a thousand channels on one listener", thousandChannels},
		{"unsubscribed channels are silent", unsubscribedChannelsAreSilent},
		{"a closed listener is silent", closedListenerIsSilent},
		{"close ends the listeners", closeEndsTheListeners},
		{"listeners do without functions", listenersDoWithoutFunctions},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			defer d.Close()
			c.check(t, d)
		})
	}
}

var command, listen = drivercheck.Command, drivercheck.Listen

// eval makes a Command that runs a script on one key.
func eval(script, key string, arguments ...string) driver.Command {
	return driver.Command{Words: append([]string{"EVAL", script, "1", key}, arguments...), Key: key}
}

// do sends a command that has to succeed.
func do(t *testing.T, d driver.Driver, c driver.Command) driver.Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	reply := d.Do(ctx, c)
	if reply.Err != nil {
		t.Fatalf("%v: %v", c.Words, reply.Err)
	}
	return reply
}

// pipelines are the ways of a driver to send several commands.
func pipelines(d driver.Driver) map[string]func(context.Context, ...driver.Command) []driver.Reply {
	return map[string]func(context.Context, ...driver.Command) []driver.Reply{
		"Pipeline": d.Pipeline, "DedicatedPipeline": d.DedicatedPipeline,
	}
}

// unique is a key or channel that no other test uses.
func unique() string { return "drivertest-" + rand.Text()[:10] }
