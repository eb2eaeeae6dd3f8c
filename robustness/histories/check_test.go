package histories

import (
	"strings"
	"testing"
	"time"
)

// Goal: the checker refuses what no lock without faults could answer. Method: the shortest histories
// of each kind, possible ones and impossible ones that differ in one thing.
func TestTheCheckerKnowsRightFromWrong(t *testing.T) {
	acquire := func(owner int, call, ret time.Duration) Operation {
		return Operation{Verb: Acquire, Owner: owner, Call: call, Return: ret}
	}
	release := func(owner int, call, ret time.Duration) Operation {
		return Operation{Verb: Release, Owner: owner, Call: call, Return: ret}
	}
	end := func(owner int, call time.Duration) Operation {
		return Operation{Verb: End, Owner: owner, Call: call, Return: call}
	}
	look := func(call time.Duration, seen Seen) Operation {
		return Operation{Verb: Look, Call: call, Return: call + 1, Seen: seen}
	}
	read := func(o Operation) Operation { o.Read = true; return o }
	refused := func(o Operation) Operation { o.Refused = true; return o }
	unknown := func(o Operation) Operation { o.Unknown, o.Return = true, o.Call; return o }
	n := func(o Operation, n int) Operation { o.N = n; return o }
	resize := func(by int, call time.Duration) Operation {
		return Operation{Verb: Resize, N: by, Call: call, Return: call + 1}
	}
	two := resize(2, -10)
	drain := func(owner, got int, call time.Duration) Operation {
		return Operation{Verb: Drain, Owner: owner, N: got, Call: call, Return: call + 1}
	}
	token := func(o Operation, n int64) Operation { o.Token = n; return o }

	for _, c := range []struct {
		name     string
		possible bool
		history  []Operation
	}{
		{"one after another", true, []Operation{acquire(1, 0, 1), release(1, 2, 3), acquire(2, 2, 4)}},
		{"two holders", false, []Operation{acquire(1, 0, 1), acquire(2, 2, 3), release(1, 4, 5)}},
		{"granted before the release was called", false, []Operation{acquire(1, 0, 1), acquire(2, 2, 3), release(1, 3+1, 5), release(2, 6, 7)}},
		{"a lost hold", true, []Operation{acquire(1, 0, 1), end(1, 2), acquire(2, 2, 4)}},
		{"granted while a lost hold was still valid", false, []Operation{acquire(1, 0, 1), end(1, 5), acquire(2, 2, 4)}},
		{"readers", true, []Operation{read(acquire(1, 0, 1)), read(acquire(2, 2, 3)), look(4, Seen{Read: true, Holders: 2})}},
		{"a writer beside a reader", false, []Operation{read(acquire(1, 0, 1)), acquire(2, 2, 3)}},
		{"a reader beside a writer", false, []Operation{acquire(1, 0, 1), read(acquire(2, 2, 3))}},
		{"a downgrade", true, []Operation{acquire(1, 0, 1), read(acquire(1, 2, 3)), release(1, 4, 5), read(acquire(2, 6, 7))}},
		{"a reader before the downgrade", false, []Operation{acquire(1, 0, 1), read(acquire(1, 2, 3)), read(acquire(2, 3+1, 5)), release(1, 6, 7)}},
		{"re-entry", true, []Operation{acquire(1, 0, 1), acquire(1, 2, 3), release(1, 4, 5), release(1, 6, 7), acquire(2, 8, 9)}},
		{"granted when one count of two was released", false, []Operation{acquire(1, 0, 1), acquire(1, 2, 3), release(1, 4, 5), acquire(2, 6, 7), release(1, 8, 9)}},
		{"released twice", false, []Operation{acquire(1, 0, 1), release(1, 2, 3), release(1, 4, 5)}},
		{"refused by a holder", true, []Operation{acquire(1, 0, 1), refused(acquire(2, 2, 3))}},
		{"refused by nobody", false, []Operation{acquire(1, 0, 1), release(1, 2, 3), refused(acquire(2, 4, 5))}},
		{"refused by an acquisition of unknown outcome", true, []Operation{unknown(acquire(1, 0, 1)), refused(acquire(2, 4, 5))}},
		{"refused before an acquisition of unknown outcome", false, []Operation{refused(acquire(2, 0, 1)), unknown(acquire(1, 2, 0))}},
		{"an acquisition of unknown outcome took nothing", true, []Operation{unknown(acquire(1, 0, 1)), acquire(2, 2, 3), release(2, 4, 5)}},
		{"a release of unknown outcome", true, []Operation{acquire(1, 0, 1), unknown(release(1, 2, 0)), acquire(2, 6, 7)}},
		{"a release of unknown outcome, too early", false, []Operation{acquire(1, 0, 1), acquire(2, 3, 4), unknown(release(1, 5, 0))}},
		{"growing tokens", true, []Operation{token(acquire(1, 0, 1), 5), release(1, 2, 3), token(acquire(2, 4, 5), 6)}},
		{"a token twice", false, []Operation{token(acquire(1, 0, 1), 5), release(1, 2, 3), token(acquire(2, 4, 5), 5)}},
		{"a look at a free lock", true, []Operation{look(0, Seen{}), acquire(1, 2, 3)}},
		{"a holder that nobody sees", false, []Operation{acquire(1, 0, 1), look(2, Seen{}), release(1, 4, 5)}},
		{"two permits for two", true, []Operation{two, acquire(1, 0, 1), acquire(2, 2, 3), look(4, Seen{Available: 0})}},
		{"two permits for three", false, []Operation{two, acquire(1, 0, 1), acquire(2, 2, 3), acquire(3, 4, 5)}},
		{"two permits for one", true, []Operation{two, n(acquire(1, 0, 1), 2), refused(acquire(2, 2, 3)), n(release(1, 4, 5), 2), acquire(2, 6, 7)}},
		{"an acquisition of unknown outcome before there were fewer permits", true, []Operation{two, unknown(acquire(1, 0, 1)), resize(-2, 2), look(4, Seen{Available: -1})}},
		{"an acquisition of unknown outcome after there were fewer permits", false, []Operation{two, resize(-2, 0), unknown(acquire(1, 2, 3)), look(4, Seen{Available: -1})}},
		{"two permits of which one is held", false, []Operation{two, acquire(1, 0, 1), n(acquire(2, 2, 3), 2)}},
		{"refused a permit that is available", false, []Operation{two, acquire(1, 0, 1), refused(acquire(2, 2, 3))}},
		{"refused two permits where one is available", true, []Operation{two, acquire(1, 0, 1), n(refused(acquire(2, 2, 3)), 2)}},
		{"a permit that is lost", true, []Operation{two, acquire(1, 0, 1), acquire(2, 2, 3), end(1, 4), acquire(3, 5, 6)}},
		{"a permit that is given out before it is lost", false, []Operation{two, acquire(1, 0, 1), acquire(2, 2, 3), end(1, 7), acquire(3, 5, 6)}},
		{"a permit that does not come back", false, []Operation{two, acquire(1, 0, 1), release(1, 2, 3), look(4, Seen{Available: 1})}},
		{"a permit that comes back twice", false, []Operation{two, acquire(1, 0, 1), release(1, 2, 3), look(4, Seen{Available: 3})}},
		{"all permits are drained", true, []Operation{two, acquire(1, 0, 1), drain(2, 1, 2), look(4, Seen{Available: 0})}},
		{"more is drained than there is", false, []Operation{two, acquire(1, 0, 1), drain(2, 2, 2)}},
		{"less is drained than there is", false, []Operation{two, drain(2, 1, 2)}},
		{"nothing is drained", true, []Operation{two, drain(2, 2, 0), drain(1, 0, 2)}},
		{"made smaller than what is held", true, []Operation{two, n(acquire(1, 0, 1), 2), resize(-1, 2), look(4, Seen{Available: -1}), refused(acquire(2, 6, 7)), n(release(1, 8, 9), 2), acquire(2, 10, 11)}},
		{"given out where more are held", false, []Operation{two, n(acquire(1, 0, 1), 2), resize(-1, 2), acquire(2, 6, 7)}},
		{"made larger, perhaps", true, []Operation{two, n(acquire(1, 0, 1), 2), unknown(resize(1, 2)), acquire(2, 6, 7), refused(acquire(3, 8, 9))}},
		{"made larger once, perhaps", false, []Operation{two, n(acquire(1, 0, 1), 2), unknown(resize(1, 2)), acquire(2, 6, 7), acquire(3, 8, 9)}},
		{"a holder in the wrong mode", false, []Operation{read(acquire(1, 0, 1)), look(2, Seen{Write: true, Holders: 1})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Check(c.history, time.Minute)
			if possible := len(v.Wrong) == 0; possible != c.possible || len(v.Open) > 0 {
				t.Errorf("possible: %v, want %v", possible, c.possible)
			}
			if len(v.Wrong) > 0 && !strings.Contains(v.Story, "owner") {
				t.Errorf("the story is %q", v.Story)
			}
		})
	}
}
