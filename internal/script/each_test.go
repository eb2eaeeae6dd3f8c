package script_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// RunEach beside a driver that answers each call in its own way, in fake time.

// sorter is a driver that answers each key from a list of its own, the last answer for ever.
type sorter struct {
	*fake
	of map[string][]driver.Reply
	// takes is how long a request takes.
	takes time.Duration

	mu    sync.Mutex
	asked map[string][]string // the verbs that each key was asked by
}

func (s *sorter) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	if ctx.Err() != nil {
		return all(commands, notSent(ctx.Err()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string][]string{}
	}
	time.Sleep(s.takes)
	replies := make([]driver.Reply, len(commands))
	for i, c := range commands {
		given := s.of[c.Key]
		replies[i] = given[min(len(s.asked[c.Key]), len(given)-1)]
		s.asked[c.Key] = append(s.asked[c.Key], c.Words[0])
		if replies[i].Err == errHangs {
			<-ctx.Done()
			replies[i].Err = ctx.Err()
		}
	}
	return replies
}

// errHangs is the error of a reply that does not come.
var errHangs = errors.New("hangs")

func locks(keys string) []script.Call {
	var calls []script.Call
	for key := range strings.FieldsSeq(keys) {
		calls = append(calls, acquire(me, 1)(key))
	}
	return calls
}

func TestEachCallIsRepeatedForItself(t *testing.T) {
	t.Parallel()
	tryAgain, noscript := refused("TRYAGAIN x"), refused("NOSCRIPT x")
	for _, c := range []struct {
		what    string
		of      map[string][]driver.Reply
		results string            // reply, repeated or not, when it was asked, in order
		asked   map[string]string // how often, and by what
	}{
		{
			"all answered", map[string][]driver.Reply{"a": {number(1)}, "b": {number(2)}, "c": {number(3)}},
			"1 0s, 2 0s, 3 0s", map[string]string{"a": "EVALSHA", "b": "EVALSHA", "c": "EVALSHA"},
		},
		{
			"the first is asked for later", map[string][]driver.Reply{"a": {tryAgain, tryAgain, number(1)}, "b": {number(2)}, "c": {tryAgain, number(3)}},
			"1 6ms, 2 0s, 3 2ms", map[string]string{"a": "EVALSHA EVALSHA EVALSHA", "b": "EVALSHA", "c": "EVALSHA EVALSHA"},
		},
		{
			"an error that stays", map[string][]driver.Reply{"a": {refused("WRONGTYPE x")}, "b": {lost, number(2)}, "c": {number(3)}},
			"WRONGTYPE 0s, 2 repeated 2ms, 3 0s", map[string]string{"a": "EVALSHA", "b": "EVALSHA EVALSHA", "c": "EVALSHA"},
		},
		{
			"lost, then refused", map[string][]driver.Reply{"a": {lost, tryAgain, number(1)}, "b": {notSent(errCut), number(2)}, "c": {tryAgain, number(3)}},
			"1 repeated 6ms, 2 2ms, 3 2ms", map[string]string{"a": "EVALSHA EVALSHA EVALSHA", "b": "EVALSHA EVALSHA", "c": "EVALSHA EVALSHA"},
		},
		{
			"an unknown script is sent at once, and once", map[string][]driver.Reply{"a": {noscript, number(1)}, "b": {number(2)}, "c": {noscript, number(3)}},
			"1 0s, 2 0s, 3 0s", map[string]string{"a": "EVALSHA EVAL", "b": "EVALSHA", "c": "EVALSHA EVALSHA"},
		},
		{
			"unknown, then lost", map[string][]driver.Reply{"a": {noscript, lost, number(1)}, "b": {lost, noscript, number(2)}, "c": {number(3)}},
			"1 repeated 2ms, 2 repeated 2ms, 3 0s", map[string]string{"a": "EVALSHA EVAL EVALSHA", "b": "EVALSHA EVALSHA EVAL", "c": "EVALSHA"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sorter{of: c.of}
			results := script.NewRunner(s, second).RunEach(t.Context(), locks("a b c")...)
			if got := described(results); got != c.results {
				t.Errorf("%s: the results are %s, want %s", c.what, got, c.results)
			}
			for key, want := range c.asked {
				if got := strings.Join(s.asked[key], " "); got != want {
					t.Errorf("%s: %s was asked by %s, want %s", c.what, key, got, want)
				}
			}
			for i, result := range results {
				if result.Failed() != nil {
					t.Errorf("%s: call %d failed: %v", c.what, i, result.Failed())
				}
			}
		})
	}
}

// Each row: one call that is never answered, in one way or another, beside one that is.
func TestACallThatIsNeverAnsweredCostsTheOthersNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		never   []driver.Reply
		unknown bool
		last    string
	}{
		{"a slot on the move", []driver.Reply{refused("TRYAGAIN x")}, false, "TRYAGAIN x"},
		{"a slot on the move that lost one", []driver.Reply{lost, refused("TRYAGAIN x")}, true, "TRYAGAIN x"},
		{"lost", []driver.Reply{lost}, true, errCut.Error()},
		{"never sent", []driver.Reply{notSent(errCut)}, false, errCut.Error()},
		{"no reply after a refusal", []driver.Reply{refused("TRYAGAIN x"), {Err: errHangs}}, true, "TRYAGAIN x"},
		{"no reply", []driver.Reply{{Err: errHangs}}, true, context.DeadlineExceeded.Error()},
		{"interrupted half-way", []driver.Reply{refused("ERR Script attempted to access a non local key in a cluster node")}, true, "non local key"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &sorter{of: map[string][]driver.Reply{"a": c.never, "b": {number(2)}, "c": {lost, number(3)}}}
			results := script.NewRunner(s, second).RunEach(t.Context(), locks("a b c")...)
			took := sinceStart()
			if took > second || took < second-200*ms {
				t.Errorf("%s: took %v of a bound of 1s", c.what, took)
			}
			var unknown *script.UnknownError
			err := results[0].Failed()
			if err == nil || errors.As(err, &unknown) != c.unknown || !strings.Contains(err.Error(), c.last) {
				t.Errorf("%s: failed as %v, an UnknownError: %v, want %s", c.what, err, !c.unknown, c.last)
			}
			if results[0].Repeated != c.unknown || !results[0].Asked.IsZero() {
				t.Errorf("%s: %+v", c.what, results[0])
			}
			if err := results[1].Failed(); err != nil || results[1].Reply.Int != 2 || results[1].Repeated || len(s.asked["b"]) != 1 {
				t.Errorf("%s: beside it %+v, %v, asked %d times", c.what, results[1], err, len(s.asked["b"]))
			}
			if c.what != "no reply" { // there the first request of both lasts until the bound
				if err := results[2].Failed(); c.what != "no reply after a refusal" && (err != nil || results[2].Reply.Int != 3) {
					t.Errorf("%s: beside it %+v, %v", c.what, results[2], err)
				}
			}
			if n := len(s.asked["a"]); n > 20 {
				t.Errorf("%s: asked %d times", c.what, n)
			}
		})
	}
}

func TestRunEachEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what    string
		of      []driver.Reply
		end     time.Duration
		unknown bool
	}{
		{"before it began", []driver.Reply{number(1)}, 0, false},
		{"during a request", []driver.Reply{{Err: errHangs}}, 10 * ms, true},
		{"during a pause after a loss", []driver.Reply{lost}, 50 * ms, true},
		{"during a pause after a refusal", []driver.Reply{refused("READONLY x")}, 50 * ms, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.end == 0 {
				cancel()
			} else {
				time.AfterFunc(c.end, cancel)
			}
			s := &sorter{of: map[string][]driver.Reply{"a": c.of, "b": c.of}}
			for i, result := range script.NewRunner(s, second).RunEach(ctx, locks("a b")...) {
				var unknown *script.UnknownError
				if err := result.Failed(); err == nil || errors.As(err, &unknown) != c.unknown {
					t.Errorf("%s: call %d failed as %v, an UnknownError: %v", c.what, i, err, !c.unknown)
				}
			}
			if took := sinceStart(); took != c.end {
				t.Errorf("%s: took %v, and the context %v", c.what, took, c.end)
			}
		})
	}
}

// What each reply says about a lease may be trusted from the request that it answers.
func TestEachResultSaysWhenItsOwnRequestLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &sorter{takes: 30 * ms, of: map[string][]driver.Reply{"a": {lost, number(1)}, "b": {number(2)}}}
		results := script.NewRunner(s, second).RunEach(t.Context(), locks("a b")...)
		if got := described(results); got != "1 repeated 32ms, 2 0s" {
			t.Errorf("the results are %s", got)
		}
	})
}

func TestNoCallsSendNothing(t *testing.T) {
	t.Parallel()
	f := &fake{}
	if results := script.NewRunner(f, second).RunEach(t.Context()); len(results) != 0 || len(f.requests) != 0 {
		t.Errorf("%v, sent %s", results, f.verbs())
	}
}

// On a real server that forgets its scripts, and where one of the keys is of another type.
func TestEachCallIsAnsweredByARealServer(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	s.must(t, "SCRIPT", "FLUSH")
	s.put(t, "b", state{"=x", none})
	s.put(t, "c", held(other, 1, old))
	results := script.NewRunner(s, 10*second).RunEach(t.Context(), locks("a b c d")...)
	for i, want := range []string{"1", "error WRONGTYPE", "{ttl, holder}", "1"} {
		if got := label(acquire(me, 1)("k"), results[i].Reply); got != want || results[i].Failed() != nil || results[i].Repeated {
			t.Errorf("call %d: %s, want %s: %+v", i, got, want, results[i])
		}
	}
}
