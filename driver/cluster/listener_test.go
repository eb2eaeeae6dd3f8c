package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// asked returns what was asked on all connections to a server.
func (all *fakes) asked(address string) (log []string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, l := range all.servers[address].listeners {
		log = append(log, l.log...)
	}
	return log
}

// publish delivers a message on every open connection of a server.
func (all *fakes) publish(address, channel, payload string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, l := range all.servers[address].listeners {
		l.events.Message(channel, payload) // not behind acknowledgements that are still to come
	}
}

// Goal: a channel counts as subscribed when everything that was asked about it is
// acknowledged, also when it was unsubscribed and subscribed again meanwhile. Method: the
// acknowledgements, two for each request, come at intervals of a second.
func TestAChannelIsHeardWhenAllIsAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.set("a:1", func(f *fake) { f.slowAck = time.Second })
		d := all.open(t)
		channel := keyOf(false)
		r := listen(t, d, channel)
		want := func(when string, lines ...string) {
			t.Helper()
			if got := r.Lines(); !slices.Equal(got, lines) {
				t.Errorf("%s: %q, want %q", when, got, lines)
			}
		}
		time.Sleep(1500 * ms)
		want("after the first of two")
		r.Unsubscribe(t.Context(), channel)
		r.Subscribe(t.Context(), channel)
		time.Sleep(time.Second)
		want("after the second of four")
		time.Sleep(time.Second)
		all.publish("a:1", channel, "early")
		want("after the third of four")
		time.Sleep(time.Second)
		want("after all", "+"+channel)
		all.publish("a:1", channel, "in time")
		want("then", "+"+channel, channel+" in time")
		r.Close()
		d.Close()
	})
}

func TestServersWithoutShardMessagesAreNotAskedForThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.set("b:2", func(f *fake) { f.old = true })
		d := all.open(t)
		if d.ShardMessages() {
			t.Error("one of the servers does not know shard messages")
		}
		r := listenAndWait(t, d, keyOf(false), keyOf(true))
		for _, address := range []string{"a:1", "b:2"} {
			if log := all.asked(address); len(log) != 1 || !strings.HasPrefix(log[0], "SUBSCRIBE ") {
				t.Errorf("%s was asked %q", address, log)
			}
		}
		r.Close()
		d.Close()
	})
}

// Goal: Subscribe returns at once, whatever the servers do, and takes effect when they
// can, with pauses that grow.
func TestSubscribeDoesNotWaitForServers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.set("a:1", func(f *fake) { f.refusing = errCut })
		all.set("b:2", func(f *fake) { f.hanging = true })
		lower, upper := keyOf(false), keyOf(true)
		began := time.Now()
		r := listen(t, d, lower, upper)
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		r.Await(t, "+"+upper, 1)
		time.Sleep(30 * time.Second)
		asked := 0
		for address := range all.servers {
			asked += get(all, address, func(f *fake) int { return len(f.asked) })
		}
		// 10, 20 … 640 ms, then once or twice a second, and each time somebody is asked.
		if asked < 20 || asked > 65 {
			t.Errorf("%d questions for the map within 30 s without a connection", asked)
		}
		all.set("a:1", func(f *fake) { f.refusing = nil })
		time.Sleep(1100 * ms)
		if r.Count("+"+lower) != 1 {
			t.Errorf("not subscribed a second after the server came back: %q", r.Lines())
		}
		d.Close()
		select {
		case <-r.Done():
		default:
			t.Error("the listener outlives the driver")
		}
	})
}

// Goal: a channel that is refused costs the others nothing, and is asked for with pauses.
func TestAChannelThatIsRefusedDoesNotCostTheOthersTheirs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		good, bad := "{"+keyOf(false)+"}good", "{"+keyOf(false)+"}bad"
		all.set("a:1", func(f *fake) {
			f.refuse = func(_, channel string) error {
				if channel == bad {
					return &driver.ServerError{Message: "NOPERM No permissions to access a channel"}
				}
				return nil
			}
		})
		r := listen(t, d, bad, good)
		time.Sleep(30 * time.Second)
		if got := r.Lines(); !slices.Equal(got, []string{"+" + good}) {
			t.Errorf("events %q", got)
		}
		tries := 0
		for _, line := range all.asked("a:1") {
			if line == "SSUBSCRIBE "+bad {
				tries++
			}
		}
		if tries < 20 || tries > 65 {
			t.Errorf("the channel was asked for %d times within 30 s", tries)
		}
		all.set("a:1", func(f *fake) { f.refuse = nil })
		time.Sleep(1100 * ms)
		if r.Count("+"+bad) != 1 {
			t.Error("not subscribed after it was allowed")
		}
		r.Close()
		d.Close()
	})
}

// Goal: a server that says it does not have the slot is taken at its word at once, and one after
// the other that both say so of each other are not asked without end.
func TestSubscriptionsFollowRedirections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		channel := keyOf(false)
		moved := func(to string) func(verb, _ string) error {
			return func(verb, _ string) error {
				if verb == "SSUBSCRIBE" {
					return movedTo(channel, to).Err
				}
				return nil
			}
		}
		all.set("a:1", func(f *fake) { f.refuse = moved("c:3") })
		began := time.Now()
		r := listenAndWait(t, d, channel)
		if took := time.Since(began); took > 100*ms {
			t.Errorf("it took %v", took)
		}
		if log := all.asked("c:3"); !slices.Contains(log, "SSUBSCRIBE "+channel) || !slices.Contains(log, "SUBSCRIBE "+channel) {
			t.Errorf("the new server was asked %q", log)
		}
		r.Close()

		all.set("c:3", func(f *fake) { f.refuse = moved("a:1") })
		before := len(all.asked("a:1")) + len(all.asked("c:3"))
		r = listen(t, d, channel)
		time.Sleep(20 * time.Second)
		if n := len(all.asked("a:1")) + len(all.asked("c:3")) - before; n > 200 {
			t.Errorf("asked %d times within 20 s", n)
		}
		r.Close()
		d.Close()
	})
}

// evict has a server end the subscriptions to a channel.
func (all *fakes) evict(address, channel string) {
	all.mu.Lock()
	events := all.servers[address].listeners[0].events
	all.mu.Unlock()
	events.Evicted(channel)
}

// Goal: an evicted channel is subscribed to again, at the server that the map names then
// and at no other before.
func TestAnEvictedChannelFollowsTheMap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		channel := keyOf(false)
		r := listenAndWait(t, d, channel)
		all.evict("a:1", channel)
		all.publish("a:1", channel, "late")
		time.Sleep(time.Second)
		if got := r.Lines(); !slices.Equal(got, []string{"+" + channel, "+" + channel}) {
			t.Errorf("evicted by a server that keeps the slot: %q", got)
		}
		before := len(all.asked("a:1"))
		all.evict("a:1", "nobody") // the map is asked for now, and not again for a moment
		synctest.Wait()
		all.divide([]fakeSpan{{0, 16383, "c", 3}}, 2)
		all.evict("a:1", channel)
		time.Sleep(time.Second)
		if r.Count("+"+channel) != 3 || !slices.Contains(all.asked("c:3"), "SSUBSCRIBE "+channel) {
			t.Errorf("not subscribed at the new server: %q, %q", r.Lines(), all.asked("c:3"))
		}
		for _, line := range all.asked("a:1")[before:] {
			if strings.HasPrefix(line, "SSUBSCRIBE") || strings.HasPrefix(line, "SUBSCRIBE") {
				t.Errorf("the old server was asked again: %s", line)
			}
		}
		r.Close()
		d.Close()
	})
}

func TestAClosedListenerRefuses(t *testing.T) {
	t.Parallel()
	d := open(t, redistest.SharedCluster(t).Addrs()...)
	r := listenAndWait(t, d, "channel-"+redistest.Name(t))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Subscribe(over, "x"); err == nil {
		t.Error("subscribed with a context that is over")
	}
	select {
	case <-r.Done():
		t.Error("done before it was closed")
	default:
	}
	r.Close()
	r.Close()
	<-r.Done()
	if err := fmt.Sprint(r.Subscribe(t.Context(), "x"), r.Unsubscribe(t.Context(), "x")); strings.Count(err, "not sent") != 2 {
		t.Errorf("errors %s", err)
	}
}

// The connection breaks between a request to subscribe and its acknowledgement: the channel is
// requested again on the next connection, and heard there.
func TestASubscriptionThatWasRequestedWhenTheConnectionBrokeIsRequestedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.set("a:1", func(f *fake) { f.slowAck = time.Second })
		d := all.open(t)
		channel := keyOf(false)
		r := listen(t, d, channel)
		time.Sleep(500 * ms)
		all.set("a:1", func(f *fake) {
			f.slowAck = 0
			for _, l := range f.listeners {
				l.once.Do(func() { close(l.done) })
			}
		})
		time.Sleep(5 * time.Second)
		if got := r.Lines(); !slices.Equal(got, []string{"+" + channel}) {
			t.Fatalf("after the break: %q", got)
		}
		all.publish("a:1", channel, "hello")
		if got := r.Lines(); !slices.Contains(got, channel+" hello") {
			t.Errorf("a message was not heard: %q", got)
		}
		r.Close()
		d.Close()
	})
}
