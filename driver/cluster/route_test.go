package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
)

const ms = time.Millisecond

// Goal: what servers call each other. Method: MOVED and the map with every way to say it.
func TestServersAreFoundUnderEveryKindOfAddress(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host, moved, want string
	}{
		{"b", "b:2", "b:2"},
		{"", ":2", "a:2"},
		{"?", "?:2", "a:2"},
		{"2001:db8::2", "2001:db8::2:2", "[2001:db8::2]:2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			all := twoFakes()
			all.servers[c.want] = &fake{all: all, address: c.want, epoch: 1}
			all.divide([]fakeSpan{{0, 8191, "", 1}, {8192, 16383, c.host, 2}}, 1)
			d := all.open(t)
			if got := d.Shard(keyOf(true)); got != c.want {
				t.Errorf("a map with the host %q: the server is %q, want %q", c.host, got, c.want)
			}
			all.divide([]fakeSpan{{0, 16383, c.host, 2}}, 1) // asked for behind MOVED
			key := keyOf(false)
			all.set("a:1", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, c.moved) } })
			if reply := d.Do(t.Context(), command("GET", key)); reply.Err != nil || len(all.log(c.want)) != 1 {
				t.Errorf("MOVED to %q: %+v, and %s got %q", c.moved, reply, c.want, all.log(c.want))
			}
			d.Close()
		})
	}
}

// Goal: a cluster that does not agree with itself is not asked without end, and its
// refusals reach the caller as something that may be repeated.
func TestRedirectionsInACircleEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		all.set("a:1", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "b:2") } })
		all.set("b:2", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "a:1") } })
		for _, reply := range []driver.Reply{
			d.Do(t.Context(), command("INCR", key)),
			d.Pipeline(t.Context(), command("INCR", key), command("INCR", key))[1],
			d.DedicatedPipeline(t.Context(), command("INCR", key))[0],
		} {
			if !refusedWith(reply.Err, "TRYAGAIN") {
				t.Errorf("%+v, want TRYAGAIN", reply)
			}
		}
		if n := len(all.log("a:1")) + len(all.log("b:2")); n > 30 {
			t.Errorf("4 commands were sent %d times", n)
		}
		d.Close()
	})
}

// Goal: nothing is sent again that may have been carried out. Method: the target of a
// redirection breaks the connection; a server breaks it in the middle of a pipeline.
func TestNothingIsSentTwiceAfterABrokenConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		cut := func([]string) driver.Reply { return driver.Reply{Err: errCut} }
		all.set("a:1", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "b:2") } })
		all.set("b:2", func(f *fake) { f.answer = cut })
		all.divide(nil, 1) // or the map could lead to a:1 before the command is repeated
		if err := d.Do(t.Context(), command("INCR", key)).Err; !errors.Is(err, errCut) {
			t.Errorf("error %v, want the one of the connection", err)
		}
		all.divide([]fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "b", 2}}, 1)
		if n := len(all.log("b:2")); n != 1 {
			t.Errorf("sent %d times", n)
		}

		// Our own bound is not the end of the caller's context.
		for until := time.Now().Add(time.Minute); d.Shard(key) != "a:1" && time.Now().Before(until); time.Sleep(time.Second) {
			d.Do(t.Context(), command("GET", key)) // the connection breaks, so the driver asks for the map
		}
		all.set("b:2", func(f *fake) { f.hanging = true })
		began := time.Now()
		err := d.Do(context.Background(), command("INCR", key)).Err
		if took := time.Since(began); took != 3*time.Second || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, driver.ErrNotSent) {
			t.Errorf("after %v, from a server that is silent: %v", took, err)
		}
		all.set("b:2", func(f *fake) { f.hanging = false })

		// Refused, then unknown: the second may have been carried out, so that the first
		// may not follow it.
		calls := 0
		all.set("b:2", func(f *fake) {
			f.answer = func([]string) driver.Reply {
				if calls++; calls == 1 {
					return movedTo(key, "a:1")
				}
				return driver.Reply{Err: errCut}
			}
		})
		all.set("a:1", func(f *fake) { f.answer, f.log = nil, nil })
		synctest.Wait()
		d.Do(t.Context(), command("GET", keyOf(true)))
		calls = 0
		replies := d.Pipeline(t.Context(), command("INCR", keyOf(true)), command("INCR", keyOf(true)))
		if !refusedWith(replies[0].Err, "TRYAGAIN") || !errors.Is(replies[1].Err, errCut) {
			t.Errorf("replies %+v, want TRYAGAIN and the error of the connection", replies)
		}
		if n := len(all.log("a:1")); n > 1 {
			t.Errorf("what was overtaken was sent on: %q", all.log("a:1"))
		}
		d.Close()
	})
}

// Goal: a pipeline that was redirected goes the right way when it is sent again. Replies
// stand where their commands do, and these in their order.
func TestAPipelineThatIsSentAgainKeepsItsOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.divide([]fakeSpan{{0, 8191, "c", 3}, {8192, 16383, "b", 2}}, 2)
		all.set("a:1", func(f *fake) { f.answer = func(words []string) driver.Reply { return movedTo(words[1], "c:3") } })
		all.set("c:3", func(f *fake) {
			f.answer = func(words []string) driver.Reply { return driver.Reply{Str: words[1] + words[2]} }
		})
		one, two := keyOf(false), keyOf(false)+"0"
		for ; driver.Slot(two) >= driver.Slots/2; two += "0" {
		}
		commands := []driver.Command{
			command("A", one, "-0"), command("B", two, "-1"), command("C", one, "-2"), command("D", two, "-3"),
		}
		for _, reply := range d.Pipeline(t.Context(), commands...) {
			if !refusedWith(reply.Err, "TRYAGAIN") {
				t.Errorf("%+v, want TRYAGAIN", reply)
			}
		}
		replies := d.Pipeline(t.Context(), commands...)
		for i, want := range []string{one + "-0", two + "-1", one + "-2", two + "-3"} {
			if replies[i].Str != want {
				t.Errorf("reply %d is %q, want %q", i, replies[i].Str, want)
			}
		}
		if got := all.log("c:3"); !slices.Equal(got, []string{"A", "B", "C", "D"}) {
			t.Errorf("sent in the order %q", got)
		}
		d.Close()
	})
}

// Goal: where commands of a slot go one at a time, none goes behind one whose outcome
// nobody knows.
func TestNothingGoesBehindACommandWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		ask := func([]string) driver.Reply {
			return driver.Reply{Err: &driver.ServerError{Message: fmt.Sprintf("ASK %d c:3", driver.Slot(key))}}
		}
		all.set("a:1", func(f *fake) { f.answer = ask })
		do(t, d, "GET", key) // the slot is seen migrating
		all.set("c:3", func(f *fake) {
			f.log = nil
			f.answer = func(words []string) driver.Reply {
				if words[0] == "SECOND" {
					return driver.Reply{Err: errCut}
				}
				return driver.Reply{Str: "OK"}
			}
		})
		replies := d.Pipeline(t.Context(), command("FIRST", key), command("SECOND", key), command("THIRD", key))
		if replies[0].Str != "OK" || errors.Is(replies[1].Err, driver.ErrNotSent) || !errors.Is(replies[2].Err, driver.ErrNotSent) {
			t.Errorf("%+v", replies)
		}
		if got := all.log("c:3"); slices.Contains(got, "THIRD") {
			t.Errorf("the target got %q", got)
		}
		d.Close()
	})
}

// Goal: connecting is done once for all callers, delays no other call, and goes on until
// it succeeds.
func TestConnectingToOneServerHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.set("b:2", func(f *fake) { f.hanging = true })
		began := time.Now()
		d := all.open(t)
		if took := time.Since(began); took > time.Second {
			t.Errorf("opening took %v", took)
		}
		errs := make(chan error)
		for range 100 {
			go func() { errs <- d.Do(context.Background(), command("GET", keyOf(true))).Err }()
		}
		synctest.Wait()
		began = time.Now()
		do(t, d, "GET", keyOf(false))
		if took := time.Since(began); took > 0 {
			t.Errorf("a call to the other server took %v", took)
		}
		for range 100 {
			if err := <-errs; !errors.Is(err, driver.ErrNotSent) || !errors.Is(err, driver.ErrNoConnection) ||
				errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("error %v", err)
			}
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("calls without a context took %v", took)
		}
		if n := all.dialled["b:2"]; n > 3 {
			t.Errorf("%d attempts to connect", n)
		}
		all.set("b:2", func(f *fake) { f.hanging = false })
		do(t, d, "GET", keyOf(true))
		d.Close()
	})
}

// Goal: a server that left is let go, but not under a call, and one that does not answer is
// hung up on for the sake of those who wait.
func TestServersThatLeftAreLetGo(t *testing.T) {
	t.Parallel()
	toC := []fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "c", 3}}
	closed := func(f *fake) bool { return f.closed }

	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.divide(toC, 2)
		all.set("b:2", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(keyOf(true), "c:3") } })
		do(t, d, "GET", keyOf(true))
		time.Sleep(5 * time.Second)
		if get(all, "b:2", closed) {
			t.Error("let go at once: it might come back")
		}
		time.Sleep(10 * time.Second)
		if !get(all, "b:2", closed) || get(all, "a:1", closed) || get(all, "c:3", closed) {
			t.Error("want the server that left, and no other, to be let go")
		}
		// When it is back, it is connected to again.
		all.divide([]fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "b", 2}}, 3)
		all.set("b:2", func(f *fake) { f.answer = nil })
		all.set("c:3", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(keyOf(true), "b:2") } })
		do(t, d, "GET", keyOf(true))
		d.Close()
	})

	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.set("b:2", func(f *fake) { f.hanging = true })
		began := time.Now()
		go func() {
			time.Sleep(time.Second)
			all.divide(toC, 2) // it takes a second until another one takes over
		}()
		err := d.Do(context.Background(), command("INCR", keyOf(true))).Err
		if !errors.Is(err, driver.ErrNotSent) {
			t.Errorf("a command that was not sent: %v", err)
		}
		do(t, d, "INCR", keyOf(true))
		// A second until it takes over, a pause of 0.8 s, and two checks of the topology loop.
		if took := time.Since(began); took > 2500*ms {
			t.Errorf("it took %v until the successor was asked", took)
		}
		if n := len(all.log("c:3")); n != 1 {
			t.Errorf("the successor got it %d times", n)
		}
		d.Close()
	})
}

func TestAServerThatLeftIsNotLetGoUnderACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		closed := func() bool { return get(all, "b:2", func(f *fake) bool { return f.closed }) }
		all.set("b:2", func(f *fake) { f.hanging, f.hang = true, 30*time.Second })
		done := make(chan error)
		go func() { done <- d.DedicatedPipeline(context.Background(), command("WAIT", keyOf(true)))[0].Err }()
		synctest.Wait() // the call is under way
		all.divide([]fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "c", 3}}, 2)
		all.set("a:1", func(f *fake) {
			f.answer = func([]string) driver.Reply { f.answer = nil; return driver.Reply{Err: errCut} }
		})
		d.Do(t.Context(), command("GET", keyOf(false))) // a broken connection, after which the map is asked for
		time.Sleep(20 * time.Second)
		if closed() || d.Shard(keyOf(true)) != "c:3" {
			t.Error("hung up on under a call that may take its time")
		}
		if err := <-done; err == nil || errors.Is(err, driver.ErrNotSent) {
			t.Errorf("the call ended with %v", err)
		}
		time.Sleep(11 * time.Second)
		if !closed() {
			t.Error("not let go after the call")
		}
		d.Close()
	})
}

// Goal: who cannot reach a server has the map asked for, also when he does not wait.
func TestAServerThatCannotBeReachedIsAReasonToLookAtTheMap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		all.set("b:2", func(f *fake) {
			f.answer = func([]string) driver.Reply {
				return driver.Reply{Err: fmt.Errorf("%w, %w", driver.ErrNotSent, driver.ErrNoConnection)}
			}
		})
		all.divide([]fakeSpan{{0, 8191, "a", 1}, {8192, 16383, "c", 3}}, 2)
		over, cancel := context.WithCancel(t.Context())
		all.set("b:2", func(f *fake) {
			unreachable := f.answer
			f.answer = func(words []string) driver.Reply { cancel(); return unreachable(words) }
		})
		if err := d.Do(over, command("GET", keyOf(true))).Err; !errors.Is(err, driver.ErrNoConnection) {
			t.Errorf("error %v, want the server's own", err)
		}
		time.Sleep(time.Second)
		if got := d.Shard(keyOf(true)); got != "c:3" {
			t.Errorf("the map still names %s", got)
		}
		d.Close()
	})
}

// Goal: trouble does not cause many questions. Method: ten seconds in which every
// command is redirected by a server that is wrong.
func TestTheMapIsAskedForAFewTimesASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		all.set("a:1", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "b:2") } })
		all.set("b:2", func(f *fake) { f.answer = func([]string) driver.Reply { return movedTo(key, "c:3") } })
		for range 1000 {
			d.Do(t.Context(), command("GET", key))
			time.Sleep(10 * ms)
		}
		asked := 0
		for address := range all.servers {
			asked += get(all, address, func(f *fake) int { return len(f.asked) })
		}
		if asked < 5 || asked > 25 {
			t.Errorf("the map was asked for %d times within 10 s", asked)
		}
		time.Sleep(time.Second)
		before := get(all, "a:1", func(f *fake) int { return len(f.asked) })
		time.Sleep(time.Minute)
		if after := get(all, "a:1", func(f *fake) int { return len(f.asked) }); after != before {
			t.Errorf("%d questions while nothing happened", after-before)
		}
		d.Close()
	})
}

// Goal: a server that is behind the times does not turn the map back.
func TestAnOlderMapIsNotTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		all.divide([]fakeSpan{{0, 16383, "b", 2}}, 7)
		d := all.open(t)
		do(t, d, "GET", keyOf(false))
		all.set("c:3", func(f *fake) { f.spans, f.epoch = []fakeSpan{{0, 16383, "c", 3}}, 6 })
		all.set("b:2", func(f *fake) {
			f.answer = func([]string) driver.Reply { f.answer = nil; return movedTo("foo", "c:3") }
		})
		do(t, d, "GET", "foo")
		time.Sleep(time.Second)
		if len(get(all, "c:3", func(f *fake) []time.Time { return f.asked })) == 0 {
			t.Error("the server that is behind the times was not asked: the test shows nothing")
		}
		if got := d.Shard("bar"); got != "b:2" {
			t.Errorf("the slot is said to be at %s", got)
		}
		d.Close()
	})
}

// Goal: a command for a migrating slot follows ASK behind an ASKING, once, and the slot map
// stays.
func TestAskIsForOneCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all := twoFakes()
		d := all.open(t)
		key := keyOf(false)
		all.set("a:1", func(f *fake) {
			f.answer = func([]string) driver.Reply {
				return driver.Reply{Err: &driver.ServerError{Message: fmt.Sprintf("ASK %d c:3", driver.Slot(key))}}
			}
		})
		for range 2 {
			if reply := d.Do(t.Context(), command("GET", key)); reply.Str != "OK" {
				t.Errorf("%+v", reply)
			}
		}
		d.Pipeline(t.Context(), command("SET", key, "x"), command("DEL", key))
		want := []string{"ASKING", "GET", "ASKING", "GET", "ASKING", "SET", "ASKING", "DEL"}
		if got := all.log("c:3"); !slices.Equal(got, want) {
			t.Errorf("the target got %q, want %q", got, want)
		}
		if got := d.Shard(key); got != "a:1" {
			t.Errorf("the slot is said to be at %s", got)
		}
		d.Close()
	})
}
