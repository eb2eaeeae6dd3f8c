package script_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a piggybacked call is sent along and delays no other. Each row: the replies to the
// first requests of a note, an acquisition and a forgetting, of which the first and the
// last are piggybacked; what is sent then; and the result of each at the end.
func TestAPiggybackedCallIsSentAgainOnlyWithOthers(t *testing.T) {
	t.Parallel()
	noscript := refused("NOSCRIPT x")
	for _, c := range []struct {
		what    string
		answers []answer
		sent    string
		results string
	}{
		{"all answered", []answer{{number(1), number(2), number(3)}}, "", "1 0s, 2 0s, 3 0s"},
		{"only the piggybacked ones lost", []answer{{lost, number(2), lost}}, "", "lost, 2 0s, lost"},
		{"only the piggybacked ones cut off", []answer{{refused("LOADING x"), number(2), notSent(errCut)}}, "", "lost, 2 0s, lost"},
		{"only the piggybacked ones refused", []answer{{refused("NOPERM x"), number(2), refused("OOM x")}}, "", "NOPERM 0s, 2 0s, OOM 0s"},
		{"all lost", []answer{{lost}}, "EVALSHA EVALSHA EVALSHA | ", "7 2ms, 7 repeated 2ms, 7 2ms"},
		{"the one between lost", []answer{{number(1), lost, lost}}, "EVALSHA EVALSHA | ", "1 0s, 7 repeated 2ms, 7 2ms"},
		{"lost twice", []answer{{lost}, {lost, number(2), lost}}, "EVALSHA EVALSHA EVALSHA | ", "lost, 2 repeated 2ms, lost"},
		{"the first unknown", []answer{{noscript, number(2), number(3)}}, "EVAL EVALSHA EVALSHA | ", "7 0s, 7 repeated 0s, 7 0s"},
		{"the last unknown", []answer{{number(1), number(2), noscript}}, "EVAL | ", "1 0s, 2 0s, 7 0s"},
		{"the first lost and the last unknown", []answer{{lost, number(2), noscript}}, "EVAL | ", "lost, 2 0s, 7 0s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answers: append(c.answers, answer{number(7)})}
			results, err := script.NewRunner(f, second).RunAll(t.Context(), noted.Piggybacked(), take, forgotten.Piggybacked())
			if err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			if got := f.verbs(); got != "EVALSHA EVALSHA EVALSHA | "+c.sent {
				t.Errorf("%s: sent %s, want %s after the first", c.what, got, c.sent)
			}
			for i, want := range strings.Split(c.results, ", ") {
				got := described(results[i : i+1])
				if results[i].Asked.IsZero() && results[i].Reply.Err != nil {
					got = "lost"
				}
				if got != want {
					t.Errorf("%s: result %d is %s, want %s", c.what, i, got, want)
				}
			}
		})
	}
}

var (
	noted     = script.SessionNote("c", lease, mutexEntry)
	forgotten = script.SessionForget("c", mutexEntry.Key())
)

// That a note may have been carried out makes nothing of an acquisition that was not.
func TestACallThatGoesAsideMakesNoOutcomeUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: []answer{{lost, notSent(errCut)}}}
		_, err := script.NewRunner(f, second).RunAll(t.Context(), noted.Piggybacked(), take)
		if _, ok := errors.AsType[*script.UnknownError](err); err == nil || ok {
			t.Errorf("the error is %v, want one that says that nothing happened", err)
		}
	})
}
