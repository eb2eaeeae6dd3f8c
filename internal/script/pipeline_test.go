package script_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Several calls in one write.

func TestSeveralCallsGoInOneWriteAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []answer{{number(1), refused("WRONGTYPE no hash"), number(3)}}, latency: 10 * ms}
		results, err := script.NewRunner(f, second).RunAll(t.Context(), free, take, ask)
		if err != nil || len(results) != 3 || len(f.requests) != 1 || f.requests[0].single {
			t.Fatalf("%v, %v, sent %s", results, err, f.verbs())
		}
		for i, call := range []script.Call{free, take, ask} {
			wantSameCall(t, f.requests[0].commands[i], call)
			if !results[i].Asked.Equal(bubbleStart) || results[i].Repeated {
				t.Errorf("call %d: %+v", i, results[i])
			}
		}
		if _, ok := errors.AsType[*driver.ServerError](results[1].Reply.Err); results[0].Reply.Int != 1 || results[2].Reply.Int != 3 || !ok {
			t.Errorf("the replies are mixed up: %+v", results)
		}
	})
}

func TestNoCallsAreAnsweredByNothing(t *testing.T) {
	t.Parallel()
	results, err := script.NewRunner(&fake{}, second).RunAll(t.Context())
	if err != nil || len(results) != 0 {
		t.Errorf("%v, %v", results, err)
	}
}

// Each row: the replies to the first requests, by call; what is sent then; and what is
// said of each call at the end. Every call is answered with 7 at last.
func TestWhatIsNotAnsweredIsSentAgainWithAllThatStandsBehindIt(t *testing.T) {
	t.Parallel()
	noscript := refused("NOSCRIPT x")
	for _, c := range []struct {
		what    string
		answers []answer
		sent    string // the verbs of the later requests
		results string // reply, repeated or not, when it was asked
	}{
		{
			"all lost", []answer{{lost}},
			"EVALSHA EVALSHA EVALSHA | ", "7 repeated 2ms, 7 repeated 2ms, 7 repeated 2ms",
		},
		{
			"none sent", []answer{{notSent(errCut)}},
			"EVALSHA EVALSHA EVALSHA | ", "7 2ms, 7 2ms, 7 2ms",
		},
		{
			"the last lost", []answer{{number(1), number(2), lost}},
			"EVALSHA | ", "1 0s, 2 0s, 7 repeated 2ms",
		},
		{
			"the second lost, and with it the third", []answer{{number(1), lost, lost}},
			"EVALSHA EVALSHA | ", "1 0s, 7 repeated 2ms, 7 repeated 2ms",
		},
		{
			// Its effect stands before that of the first, so it is asked for again.
			"the first busy, the others not", []answer{{refused("BUSY x"), number(2), number(3)}},
			"EVALSHA EVALSHA EVALSHA | ", "7 2ms, 7 repeated 2ms, 7 repeated 2ms",
		},
		{
			"an error that stays behind one that passes", []answer{{refused("BUSY x"), refused("WRONGTYPE x"), number(3)}},
			"EVALSHA EVALSHA EVALSHA | ", "7 2ms, 7 2ms, 7 repeated 2ms",
		},
		{
			"an error in the middle does not hold up", []answer{{number(1), refused("WRONGTYPE x"), lost}},
			"EVALSHA | ", "1 0s, WRONGTYPE 0s, 7 repeated 2ms",
		},
		{
			"all unknown", []answer{{noscript}},
			"EVAL EVAL EVAL | ", "7 0s, 7 0s, 7 0s",
		},
		{
			"the first unknown", []answer{{noscript, number(2), number(3)}},
			"EVAL EVALSHA EVALSHA | ", "7 0s, 7 repeated 0s, 7 repeated 0s",
		},
		{
			"the second unknown", []answer{{number(1), noscript, number(3)}},
			"EVAL EVALSHA | ", "1 0s, 7 0s, 7 repeated 0s",
		},
		{
			"a loss before an unknown one", []answer{{lost, noscript, noscript}},
			"EVALSHA EVAL EVAL | ", "7 repeated 2ms, 7 2ms, 7 2ms",
		},
		{
			"one answered at a time", []answer{{number(1), lost}, {number(2), lost}},
			"EVALSHA EVALSHA | EVALSHA | ", "1 0s, 2 repeated 2ms, 7 repeated 6ms",
		},
		{
			"a loss that is followed by a refusal", []answer{{lost}, {refused("LOADING x")}},
			"EVALSHA EVALSHA EVALSHA | EVALSHA EVALSHA EVALSHA | ", "7 repeated 6ms, 7 repeated 6ms, 7 repeated 6ms",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: append(c.answers, answer{number(7)})}
			results, err := script.NewRunner(f, second).RunAll(t.Context(), free, take, ask)
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if got := f.verbs(); got != "EVALSHA EVALSHA EVALSHA | "+c.sent {
				t.Errorf("%s: sent %s, want %s after the first", c.what, got, c.sent)
			}
			if got := described(results); got != c.results {
				t.Errorf("%s: the results are %s, want %s", c.what, got, c.results)
			}
			for _, r := range f.requests {
				// Always a tail of the list, in order.
				for i, call := range []script.Call{free, take, ask}[3-len(r.commands):] {
					wantSameCall(t, r.commands[i], call)
				}
			}
		})
	}
}

func described(results []script.Result) string {
	text := ""
	for i, r := range results {
		if i > 0 {
			text += ", "
		}
		if refused, ok := errors.AsType[*driver.ServerError](r.Reply.Err); ok {
			text += refused.Code()
		} else {
			text += fmt.Sprint(r.Reply.Int)
		}
		if r.Repeated {
			text += " repeated"
		}
		text += " " + r.Asked.Sub(bubbleStart).String()
	}
	return text
}

func TestTheErrorOfSeveralCallsSpeaksForThoseThatAreNotAnswered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		answers []answer
		unknown bool
		results string
	}{
		{"the second is never answered", []answer{{number(1), lost}, {lost}}, true, "1 0s, 0 repeated"},
		{"the second is never sent", []answer{{number(1), notSent(errCut)}, {notSent(errCut)}}, false, "1 0s, 0"},
		{"the second may have run, the first has not", []answer{{refused("BUSY x"), number(2)}, {refused("BUSY x")}}, true, "0, 0 repeated"},
		{"neither ran", []answer{{refused("BUSY x")}}, false, "0, 0"},
		{"both may have run", []answer{{lost}}, true, "0 repeated, 0 repeated"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: c.answers}
			results, err := script.NewRunner(f, second).RunAll(t.Context(), free, take)
			if _, ok := errors.AsType[*script.UnknownError](err); err == nil || ok != c.unknown {
				t.Errorf("%s: the error is %v, an UnknownError: %v", c.what, err, !c.unknown)
			}
			got := ""
			for i, r := range results {
				if i > 0 {
					got += ", "
				}
				got += fmt.Sprint(r.Reply.Int)
				if r.Repeated {
					got += " repeated"
				}
				if !r.Asked.IsZero() {
					got += " " + r.Asked.Sub(bubbleStart).String()
				}
			}
			if got != c.results {
				t.Errorf("%s: the results are %s, want %s", c.what, got, c.results)
			}
		})
	}
}

func TestAnUnknownErrorSaysWhatHappenedLast(t *testing.T) {
	t.Parallel()
	err := error(&script.UnknownError{Err: errCut})
	if err.Error() != "no reply: connection reset" || !errors.Is(err, errCut) {
		t.Errorf("%v", err)
	}
}
