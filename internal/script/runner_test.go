package script_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The runner beside a driver that loses, refuses and delays as it is told to. All in
// fake time, which begins at zero.

const ms = time.Millisecond

var (
	take = script.Mutex{Lock: "job"}.Acquire(me, script.Counts{Writes: 1}, lease, false)
	free = script.Mutex{Lock: "job", Channel: "chan", Via: protocol.Plain}.Release(other, 0, script.Counts{}, lease)
	ask  = script.Mutex{Lock: "job"}.Status("")[0]
)

// moments are when the requests left.
func (f *fake) moments() []time.Duration {
	var all []time.Duration
	for _, r := range f.requests {
		all = append(all, r.at)
	}
	return all
}

// verbs are the first words of the commands of each request.
func (f *fake) verbs() string {
	text := ""
	for _, r := range f.requests {
		for _, c := range r.commands {
			text += c.Words[0] + " "
		}
		text += "| "
	}
	return text
}

func TestACallThatIsAnsweredIsSentOnce(t *testing.T) {
	t.Parallel()
	for what, reply := range map[string]driver.Reply{
		"a number": number(1), "nil": {IsNil: true}, "a list": {Array: []driver.Reply{number(5), {Str: "x"}}},
		"an error that stays": refused("WRONGTYPE no hash"), "an error without a code": refused("ERR odd"),
		"an error of ours": refused("NOTLOCK no mutex"), "no permission": refused("NOPERM this user"),
		"out of memory": refused("OOM command not allowed"),
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Minute)
			f := &fake{answers: []answer{{reply}}, latency: 30 * ms}
			asked := time.Now()
			result, err := script.NewRunner(f, second).Run(t.Context(), take)
			if err != nil || result.Repeated || !result.Asked.Equal(asked) {
				t.Errorf("%s: %+v, %v; want it asked at %v and not repeated", what, result, err, asked)
			}
			if fmt.Sprint(result.Reply) != fmt.Sprint(reply) {
				t.Errorf("%s: the reply is %+v", what, result.Reply)
			}
			if len(f.requests) != 1 || !f.requests[0].single {
				t.Errorf("%s: sent %s", what, f.verbs())
			}
		})
	}
}

// Each row: what the first requests come to, before one is answered with 1.
func TestACallIsSentAgainUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	noscript := refused("NOSCRIPT No matching script.")
	for _, c := range []struct {
		what     string
		failures []driver.Reply
		verbs    string
		repeated bool
		moments  []time.Duration
	}{
		{"lost", []driver.Reply{lost}, "EVALSHA | EVALSHA | ", true, []time.Duration{0, 2 * ms}},
		{"not sent", []driver.Reply{notSent(errCut)}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"unknown script", []driver.Reply{noscript}, "EVALSHA | EVAL | ", false, []time.Duration{0, 0}},
		{"starting", []driver.Reply{refused("LOADING Redis is loading")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"busy", []driver.Reply{refused("BUSY Redis is busy")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"a replica", []driver.Reply{refused("READONLY You can't write")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"a lone replica", []driver.Reply{refused("MASTERDOWN Link with MASTER is down")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"a broken cluster", []driver.Reply{refused("CLUSTERDOWN The cluster is down")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"a slot on the move", []driver.Reply{refused("TRYAGAIN Multiple keys")}, "EVALSHA | EVALSHA | ", false, []time.Duration{0, 2 * ms}},
		{"lost, then unknown", []driver.Reply{lost, noscript}, "EVALSHA | EVALSHA | EVAL | ", true, []time.Duration{0, 2 * ms, 2 * ms}},
		{"unknown, then lost", []driver.Reply{noscript, lost}, "EVALSHA | EVAL | EVALSHA | ", true, []time.Duration{0, 0, 2 * ms}},
		{"unknown, lost, unknown", []driver.Reply{noscript, lost, noscript}, "EVALSHA | EVAL | EVALSHA | EVAL | ", true, []time.Duration{0, 0, 2 * ms, 2 * ms}},
		{"lost, then not sent", []driver.Reply{lost, notSent(errCut)}, "EVALSHA | EVALSHA | EVALSHA | ", true, []time.Duration{0, 2 * ms, 6 * ms}},
		{"starting, then unknown", []driver.Reply{refused("LOADING x"), noscript}, "EVALSHA | EVALSHA | EVAL | ", false, []time.Duration{0, 2 * ms, 2 * ms}},
		{"not sent, again and again", slices.Repeat([]driver.Reply{notSent(errCut)}, 9),
			"EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | EVALSHA | ", false,
			[]time.Duration{0, 2 * ms, 6 * ms, 14 * ms, 30 * ms, 62 * ms, 126 * ms, 226 * ms, 326 * ms, 426 * ms}},
	} {
		for _, alone := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{}
				for _, failure := range c.failures {
					f.answers = append(f.answers, answer{failure})
				}
				f.answers = append(f.answers, answer{number(1)})
				result, err := once(t, f, alone, take)
				if err != nil || result.Reply.Int != 1 || result.Repeated != c.repeated {
					t.Errorf("%s: %+v, %v; want 1, repeated %v", c.what, result, err, c.repeated)
				}
				if f.verbs() != c.verbs || !slices.Equal(f.moments(), c.moments) {
					t.Errorf("%s: sent %sat %v, want %sat %v", c.what, f.verbs(), f.moments(), c.verbs, c.moments)
				}
				last := f.requests[len(f.requests)-1]
				if asked := result.Asked.Sub(bubbleStart); asked != last.at {
					t.Errorf("%s: asked at %v, but the answered request left at %v", c.what, asked, last.at)
				}
				for _, r := range f.requests {
					wantSameCall(t, r.commands[0], take)
				}
			})
		}
	}
}

// once runs a call alone or as a list of one, which must be the same.
func once(t *testing.T, f *fake, alone bool, call script.Call) (script.Result, error) {
	runner := script.NewRunner(f, second)
	if alone {
		return runner.Run(t.Context(), call)
	}
	results, err := runner.RunAll(t.Context(), call)
	return results[0], err
}

// wantSameCall fails unless a command has the words of a call, by digest or by source.
func wantSameCall(t *testing.T, c driver.Command, call script.Call) {
	t.Helper()
	f := &fake{}
	script.NewRunner(f, second).Run(context.Background(), call)
	want := f.requests[0].commands[0]
	text := want.Words[1]
	if c.Words[0] == "EVAL" {
		text = call.Source()
	}
	if c.Words[1] != text || !slices.Equal(c.Words[2:], want.Words[2:]) || c.Key != want.Key {
		t.Errorf("sent %q for the key %q, want the words %q", c.Words, c.Key, want.Words[2:])
	}
}

// Redis before 7 wraps the error of a command in a script into one of its own. Words
// as they were received from 6.2, from a replica.
func TestARefusalThatAnOldRedisWrapsIsSeenThrough(t *testing.T) {
	t.Parallel()
	wrapped := refused("ERR Error running script (call to f_b9c6710b7204667ddf52febbc71e8ebb104f09fc): " +
		"@user_script:42: @user_script: 42: -READONLY You can't write against a read only replica.")
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []answer{{wrapped}, {number(1)}}}
		result, err := script.NewRunner(f, second).Run(t.Context(), take)
		if err != nil || result.Reply.Int != 1 || result.Repeated {
			t.Errorf("%+v, %v; want it asked again, and not as if it might have run", result, err)
		}
	})
}

// The whole point of Asked: a lease counts from the request that was answered, and not
// from one that was lost, nor from the arrival of the answer.
func TestAskedIsTheMomentBeforeTheAnsweredRequestLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []answer{{lost}, {lost}, {number(1)}}, latency: 300 * ms}
		result, err := script.NewRunner(f, 3*second).Run(t.Context(), take)
		if asked := result.Asked.Sub(bubbleStart); err != nil || asked != 606*ms {
			t.Errorf("asked at %v, %v; want 606ms", asked, err)
		}
	})
}

func TestRepeatingEndsWithinTheBound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		answers []answer
		unknown bool
		last    error
	}{
		{"a replica for ever", []answer{{refused("READONLY x")}}, false, refused("READONLY x").Err},
		{"busy for ever", []answer{{refused("BUSY x")}}, false, refused("BUSY x").Err},
		{"never sent", []answer{{notSent(errCut)}}, false, driver.ErrNotSent},
		{"lost for ever", []answer{{lost}}, true, errCut},
		{"lost once, a replica for ever", []answer{{lost}, {refused("READONLY x")}}, true, refused("READONLY x").Err},
		{"lost once, never sent after it", []answer{{lost}, {notSent(errCut)}}, true, driver.ErrNotSent},
		{"a replica, and lost at last", []answer{{refused("READONLY x")}, {lost}}, true, errCut},
		{"unknown once, a replica for ever", []answer{{refused("NOSCRIPT x")}, {refused("READONLY x")}}, false, refused("READONLY x").Err},
		{"unknown, and cut off before it left with its source", []answer{{refused("NOSCRIPT x")}, {notSent(context.DeadlineExceeded)}}, false, context.DeadlineExceeded},
		{"lost once, no answer at all", []answer{{lost}, hung}, true, context.DeadlineExceeded},
		{"a replica once, no answer at all", []answer{{refused("READONLY x")}, hung}, true, context.DeadlineExceeded},
	} {
		for _, alone := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answers: c.answers}
				_, err := once(t, f, alone, take)
				took := sinceStart()
				if _, ok := errors.AsType[*script.UnknownError](err); ok != c.unknown {
					t.Errorf("%s: %v, which is an UnknownError: %v", c.what, err, !c.unknown)
				}
				var server *driver.ServerError
				if want, ok := c.last.(*driver.ServerError); ok && (!errors.As(err, &server) || server.Code() != want.Code()) || !ok && !errors.Is(err, c.last) {
					t.Errorf("%s: the error is %v, which hides %v", c.what, err, c.last)
				}
				// The last pause is not begun if the bound ends in it.
				if took > second || took < second-100*ms {
					t.Errorf("%s: took %v of a bound of 1s", c.what, took)
				}
				if n := len(f.requests); n > 20 {
					t.Errorf("%s: %d requests", c.what, n)
				}
			})
		}
	}
}

// The doc of Run: it blocks for at most the bound. The driver's own bound may be
// longer, and the context may have none.
func TestRunBlocksForAtMostTheBoundThoughTheFirstRequestHangs(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: []answer{hung}, timeout: 3 * second}
			_, err := once(t, f, alone, take)
			if _, ok := errors.AsType[*script.UnknownError](err); !ok {
				t.Errorf("the error is %v, want an UnknownError", err)
			}
			if took := sinceStart(); took > second {
				t.Errorf("alone=%v: blocked for %v, and the bound is 1s", alone, took)
			}
		})
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		answers []answer
		end     time.Duration
		unknown bool
		sent    int
	}{
		{"before it began", []answer{{lost}}, 0, false, 0},
		{"during the first request", []answer{hung}, 10 * ms, true, 1},
		{"during a pause after a loss", []answer{{lost}}, 50 * ms, true, 5},
		{"during a pause after a refusal", []answer{{refused("READONLY x")}}, 50 * ms, false, 5},
		{"during a repetition", []answer{{refused("READONLY x")}, hung}, 50 * ms, true, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.end == 0 {
				cancel()
			} else {
				time.AfterFunc(c.end, cancel)
			}
			f := &fake{answers: c.answers}
			_, err := script.NewRunner(f, second).Run(ctx, take)
			if _, ok := errors.AsType[*script.UnknownError](err); err == nil || ok != c.unknown {
				t.Errorf("%s: the error is %v, an UnknownError: %v", c.what, err, !c.unknown)
			}
			if took := sinceStart(); took != c.end {
				t.Errorf("%s: it took %v, and the context %v", c.what, took, c.end)
			}
			if len(f.requests) != c.sent {
				t.Errorf("%s: %d requests, want %d", c.what, len(f.requests), c.sent)
			}
		})
	}
}

func TestAnAnswerThatArrivesAsTheContextEndsIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*ms)
		defer cancel()
		f := &fake{latency: 20 * ms} // deaf to its context
		result, err := script.NewRunner(f, second).Run(ctx, take)
		if err != nil || result.Reply.Int != 1 {
			t.Errorf("%+v, %v: what is known was thrown away", result, err)
		}
	})
}

func TestNothingLeavesAfterTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []answer{{lost}}, latency: 170 * ms}
		script.NewRunner(f, second).Run(t.Context(), take)
		requests := len(f.requests)
		for _, at := range f.moments() {
			if at >= second {
				t.Errorf("a request left at %v", at)
			}
		}
		time.Sleep(time.Minute)
		if len(f.requests) != requests {
			t.Error("requests leave after Run has returned")
		}
	})
}
