package script_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: every reply of the scripts on counters and permits leaves the state that its header promises,
// and a repeated call changes nothing more. Method: a table on each server.

// counterRow is one entry. A state is written "counter record | permits": the value of the counter,
// "x" for a hash, "ttl" behind it for one with a TTL; what the record of the first slot has; and the
// permits in use by their ids, each with what is left of it, and "ttl" behind those with a TTL.
type counterRow struct {
	what, given string
	call        func(key string) script.Call
	reply, then string
	published   string
	again       string // the reply to a repetition, if it is another
}

const (
	permit2 = "ffeeddccbbaa99887766554433221100"
	never   = "922337203685477"
)

func numbered7(key string) script.Request {
	r := request(key)
	r.Number = 7
	return r
}

func takeN(wants ...int) func(string) script.Call {
	return func(key string) script.Call { return semaphore(key).Acquire(numbered7(key), wants...) }
}

func add(n int) func(string) script.Call {
	return func(key string) script.Call { return semaphore(key).Add(n, numbered7(key)) }
}

func undo(key string) script.Call  { return semaphore(key).Cancel(numbered7(key), 0) }
func back(key string) script.Call  { return semaphore(key).Cancel(numbered7(key), 2) }
func drain(key string) script.Call { return semaphore(key).Drain(numbered7(key)) }
func set(key string) script.Call   { return semaphore(key).Set(5, numbered7(key)) }

func setPermits(key string) script.Call { return permits(key).Set(5, numbered7(key)) }
func addPermits(key string) script.Call { return permits(key).Add(2, numbered7(key)) }

func shut(key string) script.Call { return script.NewLatch(key, protocol.Plain).Set(3, numbered7(key)) }
func countDown(key string) script.Call {
	return script.NewLatch(key, protocol.Plain).CountDown(numbered7(key))
}

func takeOne(key string) script.Call {
	return permits(key).Acquire(permit1, script.Counts{Writes: 1}, lease, true)
}
func giveBack(key string) script.Call {
	return permits(key).Release(permit1, 0, script.Counts{}, lease)
}
func extend(key string) script.Call {
	return script.Renew([]script.Renewal{permits(key).Renewal(permit1, script.Counts{}, false, lease)})
}
func moveOn(key string) script.Call {
	return permits(key).Move(permitIDs["1"], permitIDs["3"], false, lease)
}
func available(key string) script.Call { return permits(key).Read() }
func countOf(key string) script.Call   { return semaphore(key).Read() }

var counterTable = []counterRow{
	{"take", "5", takeN(2), "n > 0", "3 7:2", "", ""},
	{"take the last", "2", takeN(2), "n > 0", "0 7:2", "", ""},
	{"take too many", "1", takeN(2), "0", "1", "", ""},
	{"take of none", "", takeN(2), "0", "", "", ""},
	{"take of less than none", "-3", takeN(2), "0", "-3", "", ""},
	{"take for all", "5", takeN(2, 1, 2), "n > 0", "0 7:5", "", ""},
	{"take for the first ones", "5", takeN(2, 2, 2), "n > 0", "1 7:4", "", ""},
	{"take for nobody behind one who wants too many", "5", takeN(2, 4, 1), "n > 0", "3 7:2", "", ""},
	{"take for nobody", "5", takeN(6, 1), "0", "5", "", ""},
	{"take with a TTL", "5ttl 6:1", takeN(2), "n > 0", "3ttl 7:2", "", ""},
	{"take what was taken", "3 7:2", takeN(2), "n > 0", "3 7:2", "", ""},
	{"take after a later request", "3 8:0", takeN(2), "-9", "3 8:0", "", ""},
	{"take what was cancelled", "3 7:0", takeN(2), "0", "3 7:0", "", ""},
	{"take beside a record of another", "3 abc", takeN(2), "n > 0", "1 7:2", "", ""},
	{"take from a hash", "x", takeN(2), "error WRONGTYPE", "x", "", ""},
	{"take from a text", "abc", takeN(2), "error NOTLOCK", "abc", "", ""},
	{"take from what has zeros in front", "007", takeN(2), "error NOTLOCK", "007", "", ""},
	{"take from what Lua cannot count", "9007199254740993", takeN(2), "error NOTLOCK", "9007199254740993", "", ""},
	{"take from what Lua just counts", "999999999999999", takeN(2), "n > 0", "999999999999997 7:2", "", ""},
	{"take from a long text", "12345678901234567", takeN(2), "error NOTLOCK", "12345678901234567", "", ""},

	{"put back", "3", add(2), "n >= 0", "5 7:0", "5", ""},
	{"put back the first", "", add(2), "n >= 0", "2 7:0", "2", ""},
	{"put back what is owed", "-2", add(2), "n >= 0", "0 7:0", "", ""},
	{"put back with a TTL", "3ttl", add(2), "n >= 0", "5ttl 7:0", "5", ""},
	{"put back once more", "5 7:0", add(2), "n >= 0", "5 7:0", "", ""},
	{"put back after a later request", "5 8:0", add(2), "-9", "5 8:0", "", ""},
	{"take away", "5", add(-7), "n >= 0", "-2 7:0", "", ""},
	{"add too many", "2147483647", add(1), "-4", "2147483647 7:-4", "", ""},
	{"take away too many", "-2147483648", add(-1), "-4", "-2147483648 7:-4", "", ""},
	{"put back into a hash", "x", add(1), "error WRONGTYPE", "x", "", ""},
	{"put back into a text", "1.5", add(1), "error NOTLOCK", "1.5", "", ""},

	{"cancel what was taken", "3 7:2", undo, "1", "5 7:0", "5", "0"},
	{"cancel what was refused", "1", undo, "0", "1 7:0", "", ""},
	{"cancel after a later request", "1 8:0", undo, "0", "1 8:0", "", ""},
	{"cancel what is gone", " 7:3", undo, "0", " 7:0", "", ""},
	{"put back for one who left", "3 6:3", back, "1", "5 7:0", "5", "0"},
	{"put back for one who left what is gone", "", back, "0", " 7:0", "", ""},
	{"cancel in a hash", "x 7:3", undo, "error WRONGTYPE", "x 7:3", "", ""},
	{"cancel in a text", "abc 7:3", undo, "error NOTLOCK", "abc 7:3", "", ""},

	{"drain", "5", drain, "n > 0", "0 7:5", "", ""},
	{"drain with a TTL", "5ttl", drain, "n > 0", "0ttl 7:5", "", ""},
	{"drain nothing", "", drain, "0", " 7:0", "", ""},
	{"drain less than nothing", "-5", drain, "0", "-5 7:0", "", ""},
	{"drain what was drained", "3 7:5", drain, "n > 0", "3 7:5", "", ""},
	{"drain after a later request", "5 8:0", drain, "-9", "5 8:0", "", ""},
	{"drain a hash", "x", drain, "error WRONGTYPE", "x", "", ""},
	{"drain a text", "abc", drain, "error NOTLOCK", "abc", "", ""},

	{"set", "", set, "1", "5 7:1", "5", ""},
	{"set what is there", "0", set, "0", "0 7:0", "", ""},
	{"set what was set", "4 7:1", set, "1", "4 7:1", "", ""},
	{"set after a later request", " 8:0", set, "-9", " 8:0", "", ""},
	{"set a hash", "x", set, "error WRONGTYPE", "x", "", ""},
	{"set a text", "abc", set, "error NOTLOCK", "abc", "", ""},
	{"set leased permits", "", setPermits, "1", "5 7:1", "5", ""},
	{"set leased permits whose former counter is gone", " | 2=old", setPermits, "1", "5 7:1", "5", ""},
	{"set leased permits that are there", "1 | 2=old", setPermits, "0", "1 7:0 | 2=old", "", ""},
	{"add leased permits", "1 | 2=old", addPermits, "n >= 0", "3 7:0 | 2=old", "3", ""},
	{"add leased permits whose former counter is gone", " | 2=old", addPermits, "n >= 0", "2 7:0", "2", ""},
	{"close a latch", "", shut, "1", "3 7:1", "latch 1", ""},
	{"close a closed latch", "1", shut, "0", "1 7:0", "", ""},

	{"count down", "2", countDown, "n >= 0", "1 7:1", "", ""},
	{"open", "1", countDown, "n >= 0", " 7:0", "latch 0", ""},
	{"open what is below one", "0", countDown, "n >= 0", " 7:0", "latch 0", ""},
	{"count down an open latch", "", countDown, "n >= 0", " 7:0", "", ""},
	{"count down what was counted", "1 7:1", countDown, "n >= 0", "1 7:1", "", ""},
	{"count down after a later request", "1 8:0", countDown, "-9", "1 8:0", "", ""},
	{"count down a hash", "x", countDown, "error WRONGTYPE", "x", "", ""},
	{"count down a text", "abc", countDown, "error NOTLOCK", "abc", "", ""},

	{"take a permit", "2", takeOne, "1", "1 | 1=lease", "", ""},
	{"take a permit beside others", "1 | 2=old", takeOne, "1", "0 | 1=lease 2=old", "", ""},
	{"take a permit that was taken", "1 | 1=old", takeOne, "1", "1 | 1=lease", "", ""},
	{"take a permit that was taken for longer", "1 | 1=long", takeOne, "1", "1 | 1=long", "", ""},
	{"take the own permit that has expired", "0 | 1=dead", takeOne, "1", "0 | 1=lease", "", ""},
	{"take a permit of the dead", "0 | 2=dead 3=dead", takeOne, "1", "1 | 1=lease", "1", ""},
	{"take the only permit of the dead", "0 | 2=dead 3=old", takeOne, "1", "0 | 1=lease 3=old", "", ""},
	{"take a permit where many are owed", "-2 | 2=dead 3=dead 4=old", takeOne, "{ttl, ''}", "0 | 4=old", "", ""},
	{"take a permit of none", "0 | 2=old 3=long", takeOne, "{ttl, ''}", "0 | 2=old 3=long", "", ""},
	{"take a permit that nobody leaves", "0 | 2=never", takeOne, "{ttl, ''}", "0 | 2=never", "", ""},
	{"take a permit that nobody made", "", takeOne, "{ttl, ''}", "", "", ""},
	{"take a permit that is gone", " | 2=dead", takeOne, "{ttl, ''}", " | 2=dead", "", ""},
	{"take a permit with a TTL", "2ttl", takeOne, "1", "1lease | 1=lease", "", ""},
	{"take a permit beside those that have a TTL", "2 | 2=old ttl", takeOne, "1", "1 | 1=lease 2=old", "", ""},
	{"take a permit of a hash", "x", takeOne, "error WRONGTYPE", "x", "", ""},
	{"take a permit of a text", "abc | 2=dead", takeOne, "error NOTLOCK", "abc | 2=dead", "", ""},
	{"take a permit of what Redis does not count", "-0 | 2=dead", takeOne, "error NOTLOCK", "-0 | 2=dead", "", ""},
	{"take a permit beside a string", "2 | x", takeOne, "error WRONGTYPE", "2 | x", "", ""},

	{"give back", "0 | 1=old 2=old", giveBack, "n >= 0", "1 | 2=old", "1", "-1"},
	{"give back where some are owed", "-3 | 1=old 2=old", giveBack, "n >= 0", "-2 | 2=old", "", "-1"},
	{"give back what has expired", "0 | 1=dead", giveBack, "-1", "1", "1", ""},
	{"give back what is not there", "0 | 2=old", giveBack, "-1", "0 | 2=old", "", ""},
	{"give back what is gone", " | 1=old", giveBack, "-1", "", "", ""},
	{"give back to a hash", "x | 1=old", giveBack, "error WRONGTYPE", "x | 1=old", "", ""},
	{"give back to a text", "abc | 1=old", giveBack, "error NOTLOCK", "abc | 1=old", "", ""},
	{"give back to what Redis does not count", "007 | 1=old", giveBack, "error NOTLOCK", "007 | 1=old", "", ""},
	{"give back beside a string", "2 | x", giveBack, "error WRONGTYPE", "2 | x", "", ""},

	{"move", "0 | 1=old 2=old", moveOn, "n > 0", "0 | 2=old 3=lease", "", ""},
	{"move for less, with a TTL", "0ttl | 1=long", moveOn, "n > 0", "0lease | 3=long", "", ""},
	{"move late what has moved", "0 | 3=old", moveOn, "n > 0", "0 | 3=lease", "", ""},
	{"move what has expired", "0 | 1=dead", moveOn, "0", "0 | 1=dead", "", ""},
	{"move what is not there", "0 | 2=old", moveOn, "0", "0 | 2=old", "", ""},
	{"move what is gone", " | 1=old", moveOn, "0", " | 1=old", "", ""},
	{"move a string", "1 | x", moveOn, "error WRONGTYPE", "1 | x", "", ""},
	{"extend", "0 | 1=old", extend, "1", "0 | 1=lease", "", ""},
	{"extend for less", "0 | 1=long", extend, "1", "0 | 1=long", "", ""},
	{"extend with a TTL", "0ttl | 1=old", extend, "1", "0lease | 1=lease", "", ""},
	{"extend beside those that have a TTL", "0 | 1=old 2=old ttl", extend, "1", "0 | 1=lease 2=old", "", ""},
	{"extend what has expired", "0 | 1=dead", extend, "0", "0 | 1=dead", "", ""},
	{"extend what is not there", "0 | 2=old", extend, "0", "0 | 2=old", "", ""},
	{"extend what is gone", " | 1=old", extend, "0", " | 1=old", "", ""},
	{"extend a string", "1 | x", extend, "0", "1 | x", "", ""},

	{"available", "2 | 1=old 2=dead 3=dead", available, "{n}", "2 | 1=old 2=dead 3=dead", "", ""},
	{"available of nothing", "", available, "{n}", "", "", ""},
	{"available of a hash", "x", available, "error WRONGTYPE", "x", "", ""},
	{"available of a text", "abc", available, "error NOTLOCK", "abc", "", ""},
	{"available beside a string", "1 | x", available, "error WRONGTYPE", "1 | x", "", ""},
	{"count", "2 | 1=old 2=dead", countOf, "{n}", "2 | 1=old 2=dead", "", ""},
	{"count of a hash", "x", countOf, "error WRONGTYPE", "x", "", ""},
}

func TestEveryReplyOfACounterLeavesTheStateThatTheHeaderPromises(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range counterTable {
			t.Run(r.what, func(t *testing.T) {
				key := redistest.Name(t)
				s.putCounter(t, key, r.given)
				heard, latch := s.listen(t, protocol.SemaphoreChannel(key)), s.listen(t, protocol.LatchChannel(key))
				call := r.call(key)
				reply := s.run(t, call)
				if got := counterReply(call, reply); got != r.reply {
					t.Errorf("the reply is %s, want %s: %+v", got, r.reply, reply)
				}
				if got := s.counter(t, key); got != r.then {
					t.Errorf("it left %q, want %q", got, r.then)
				}
				published := strings.Join(heard.received(t), " ")
				for _, payload := range latch.received(t) {
					published += "latch " + payload
				}
				if published != r.published {
					t.Errorf("published %q, want %q", published, r.published)
				}
				again := s.run(t, call)
				if got, want := counterReply(call, again), orElse(r.again, r.reply); got != want {
					t.Errorf("repeated, the reply is %s, want %s", got, want)
				}
				if got := s.counter(t, key); got != r.then {
					t.Errorf("repeated, it left %q, want %q", got, r.then)
				}
			})
		}
	})
}

// putCounter makes a semaphore or a latch look like a state.
func (s *server) putCounter(t testing.TB, key, text string) {
	t.Helper()
	s.must(t, "DEL", key, protocol.PermitsInUse(key), request(key).Record)
	front, inUse, _ := strings.Cut(text, "|")
	value, record, _ := strings.Cut(strings.TrimRight(front, " "), " ")
	number, ttl := strings.CutSuffix(value, "ttl")
	switch {
	case value == "x":
		s.must(t, "HSET", key, "x", "1")
	case value != "":
		s.must(t, "SET", key, number)
	}
	if ttl {
		s.must(t, "PEXPIRE", key, fmt.Sprint(old.Milliseconds()))
	}
	if record != "" {
		s.must(t, "SET", request(key).Record, strings.Replace(record, ":", " ", 1), "PX", "10000")
	}
	now := s.now(t)
	inUse, setTTL := strings.CutSuffix(inUse, " ttl")
	if setTTL {
		defer func() { s.must(t, "PEXPIRE", protocol.PermitsInUse(key), fmt.Sprint(old.Milliseconds())) }()
	}
	for one := range strings.FieldsSeq(inUse) {
		who, left, found := strings.Cut(one, "=")
		if !found {
			s.must(t, "SET", protocol.PermitsInUse(key), one)
			continue
		}
		score := map[string]string{
			"old": fmt.Sprint(now.Add(old).UnixMilli()), "long": fmt.Sprint(now.Add(2 * lease).UnixMilli()), "dead": fmt.Sprint(now.Add(-time.Millisecond).UnixMilli()), "never": never,
		}[left]
		s.must(t, "ZADD", protocol.PermitsInUse(key), score, permits(key).Field(permitIDs[who], false))
	}
}

var permitIDs = map[string]string{"1": permit1, "2": permit2, "3": "33" + permit2[2:], "4": "44" + permit2[2:]}

// counter is the state of a semaphore or a latch.
func (s *server) counter(t testing.TB, key string) string {
	t.Helper()
	text := ""
	if s.must(t, "TYPE", key).Str == "string" {
		text = s.must(t, "GET", key).Str
	} else if s.must(t, "EXISTS", key).Int == 1 {
		text = "x"
	}
	if ttl := s.state(t, key).ttl; ttl > 0 {
		text += map[bool]string{true: "ttl", false: "lease"}[ttl <= old]
	}
	if s.must(t, "TYPE", request(key).Record).Str == "string" {
		text += " " + strings.Replace(s.must(t, "GET", request(key).Record).Str, " ", ":", 1)
		if ttl := s.must(t, "PTTL", request(key).Record).Int; ttl <= 0 || ttl > 10_000 {
			text += fmt.Sprint(" for ", ttl)
		}
	}
	set := protocol.PermitsInUse(key)
	switch s.must(t, "TYPE", set).Str {
	case "zset":
		text += " |" + s.inUse(t, set, key)
		if s.state(t, key).ttl > 0 != (s.must(t, "PTTL", set).Int > 0) {
			text += " with another TTL"
		}
	case "string":
		text += " | x"
	}
	return text
}

// inUse are the permits in use, in the order of their names.
func (s *server) inUse(t testing.TB, set, key string) (text string) {
	t.Helper()
	now := s.now(t)
	for _, who := range []string{"1", "2", "3", "4"} {
		r := s.must(t, "ZSCORE", set, permits(key).Field(permitIDs[who], false))
		if r.IsNil {
			continue
		}
		score, _ := strconv.ParseFloat(r.Str, 64)
		left := time.UnixMilli(int64(score)).Sub(now)
		class := "never"
		for name, most := range map[string]time.Duration{"dead": 0, "old": old, "lease": lease, "long": 2 * lease} {
			if left <= most && left > most-slack {
				class = name
			}
		}
		text += " " + who + "=" + class
	}
	return text
}

// counterReply is a reply as the header of its script writes it.
func counterReply(call script.Call, r driver.Reply) string {
	name := call.Script()
	refused, _ := errors.AsType[*driver.ServerError](r.Err)
	told := name == "semaphore_add" || name == "latch_count_down" || name == "permit_release"
	switch {
	case refused != nil:
		return "error " + refused.Code()
	case name == "permit_renew" && len(r.Array) == 1:
		return fmt.Sprint(r.Array[0].Int)
	case len(r.Array) == 2:
		return "{ttl, ''}"
	case len(r.Array) == 1:
		return "{n}"
	case name == "permit_move" && r.Int > 0:
		return "n > 0"
	case told && r.Int >= 0:
		return "n >= 0"
	case (name == "semaphore_drain" || name == "semaphore_acquire") && r.Int > 0:
		return "n > 0"
	}
	return fmt.Sprint(r.Int)
}

// The table has a row for every reply that a header lists, and none besides.
func TestEveryReplyInAHeaderOfACounterIsProducedByTheTable(t *testing.T) {
	t.Parallel()
	listed := regexp.MustCompile(`(?m)^--   ((?:error [A-Z]+|\{[^}]*\}|n >=? 0|-?\d+)) +\S`)
	for _, p := range pages(t) {
		var produced, promised []string
		for _, r := range counterTable {
			if r.call("k").Script() == p.name {
				produced = append(produced, r.reply)
			}
		}
		if len(produced) == 0 {
			continue
		}
		for _, match := range listed.FindAllStringSubmatch(p.header, -1) {
			promised = append(promised, match[1])
		}
		switch p.name {
		case "semaphore_add", "permit_release":
			produced = append(produced, "-2") // needs a server with an ACL
		case "permit_renew":
			produced = append(produced, "-1")
		}
		if !slices.Equal(sorted(produced), sorted(promised)) {
			t.Errorf("%s: the header lists %q, the table produces %q", p.name, promised, produced)
		}
	}
}

// A waiter is told when the first permit expires, -1 if none does.
func TestARefusalSaysWhenTheFirstPermitExpires(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for given, want := range map[string]time.Duration{"0 | 2=old 3=long": old, "0 | 3=long 2=never": 2 * lease, "0 | 2=never": -time.Millisecond, "-9 | 2=dead": -time.Millisecond, "": -time.Millisecond} {
			key := redistest.Name(t)
			s.putCounter(t, key, given)
			got, err := script.ReadAcquired(s.run(t, takeOne(key)))
			if err != nil || got.Granted || got.TTL > want || got.TTL < want-slack || (got.TTL < 0) != (want < 0) {
				t.Errorf("%q: %+v, %v; want %v", given, got, err, want)
			}
		}
	})
}

// A refusal puts back a bounded number of the permits of the dead, and the next one the rest.
func TestThePermitsOfManyDeadComeBackInSteps(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		s.must(t, "SET", key, "-250")
		for i := range 300 {
			s.must(t, "ZADD", protocol.PermitsInUse(key), fmt.Sprint(1+i), fmt.Sprintf("dead%12d", i))
		}
		for _, want := range []string{"-150", "-50", "49"} {
			s.run(t, takeOne(key))
			if got := s.must(t, "GET", key).Str; got != want {
				t.Errorf("the counter is %s, want %s", got, want)
			}
		}
		if n := s.must(t, "ZCARD", protocol.PermitsInUse(key)).Int; n != 1 {
			t.Errorf("%d permits are in use", n)
		}
	})
}
