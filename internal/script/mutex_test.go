package script_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

const second = time.Second

// The owners of the tables, and the leases: far enough apart to be told from one
// another by what is left of them.
const (
	me    = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:1"
	other = "9a0c7d52-0b5e-4d5c-8f0a-3f1d2c4b5a69:7"
	// resting is what me is called for the rest of a minimum time.
	resting = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10:-1"

	old   = 40 * second
	lease = 90 * second
)

// row is one entry of the table: given a state, a call; then a reply, the state after
// it, and what was published.
type row struct {
	what      string
	given     state
	call      func(key string) script.Call
	reply     string // as the script's header writes it
	read      string // as Go reads it
	then      state
	published int    // times "0"
	again     string // the reply to a repetition, if it is another
}

var table = []row{
	{"acquire a free lock", state{}, acquire(me, 1), "1", "granted", held(me, 1, lease), 0, ""},
	{"acquire once more", held(me, 1, old), acquire(me, 2), "1", "granted", held(me, 2, lease), 0, ""},
	{"acquire what a lost reply had acquired", held(me, 1, old), acquire(me, 1), "1", "granted", held(me, 1, lease), 0, ""},
	{"acquire for the fifth time", held(me, 4, old), acquire(me, 5), "1", "granted", held(me, 5, lease), 0, ""},
	{"acquire one's own without expiry", held(me, 1, none), acquire(me, 2), "1", "granted", held(me, 2, lease), 0, ""},
	{"re-enter what is gone", state{}, acquire(me, 2), "0", "gone", state{ttl: missing}, 0, ""},
	{"re-enter deeply what is gone", state{}, acquire(me, 10), "0", "gone", state{ttl: missing}, 0, ""},
	{"acquire what another holds", held(other, 3, old), acquire(me, 1), "{ttl, holder}", "held by " + other + " for 40s", held(other, 3, old), 0, ""},
	{"re-enter what another holds by now", held(other, 1, old), acquire(me, 2), "{ttl, holder}", "held by " + other + " for 40s", held(other, 1, old), 0, ""},
	{"acquire what another holds for ever", held(other, 1, none), acquire(me, 1), "{ttl, holder}", "held by " + other + " for ever", held(other, 1, none), 0, ""},
	{"acquire a hash of several fields", state{"a=1 b=2", old}, acquire(me, 1), "error NOTLOCK", "error", state{"a=1 b=2", old}, 0, ""},
	{"acquire what one of any name holds", state{"hits=5", old}, acquire(me, 1), "{ttl, holder}", "held by hits for 40s", state{"hits=5", old}, 0, ""},
	{"acquire one's own that has no count", state{me + "=x", old}, acquire(me, 2), "error NOTLOCK", "error", state{me + "=x", old}, 0, ""},
	{"re-enter for less than is left", held(me, 1, 2*lease), acquire(me, 2), "1", "granted", held(me, 2, 2*lease), 0, ""},
	{"acquire a hash of one field that has no count", state{"user:17=Smith", old}, acquire(me, 1), "error NOTLOCK", "error", state{"user:17=Smith", old}, 0, ""},
	{"acquire a string", state{"=x", old}, acquire(me, 1), "error WRONGTYPE", "error", state{"=x", old}, 0, ""},

	{"release the last hold", held(me, 1, old), release(me, 0), "n >= 0", "freed, told 1", state{ttl: missing}, 1, "-1"},
	{"release the last hold, whatever the count", held(me, 7, old), release(me, 0), "n >= 0", "freed, told 1", state{ttl: missing}, 1, "-1"},
	{"release one hold of two", held(me, 2, old), release(me, 1), "-3", "holds remain", held(me, 1, lease), 0, ""},
	{"release one hold of two, for less than is left", held(me, 2, 2*lease), release(me, 1), "-3", "holds remain", held(me, 1, 2*lease), 0, ""},
	{"release one hold of ten", held(me, 10, none), release(me, 9), "-3", "holds remain", held(me, 9, lease), 0, ""},
	{"release what is free", state{}, release(me, 0), "-1", "not held", state{ttl: missing}, 0, ""},
	{"release a hold of what is free", state{}, release(me, 1), "-1", "not held", state{ttl: missing}, 0, ""},
	{"release what another holds", held(other, 1, old), release(me, 0), "-1", "not held", held(other, 1, old), 0, ""},
	{"release a string", state{"=x", none}, release(me, 0), "error WRONGTYPE", "error", state{"=x", none}, 0, ""},

	{"stay for less than is left", held(me, 1, 2*lease), stay(me), "-3", "holds remain", held(resting, 1, lease), 1, ""},
	{"stay for more than is left", held(me, 1, old), stay(me), "-3", "holds remain", held(resting, 1, lease), 0, ""},
	{"stay what has no expiry", held(me, 3, none), stay(me), "-3", "holds remain", held(resting, 1, lease), 1, ""},
	{"stay once more", held(resting, 1, old), stay(me), "-3", "holds remain", held(resting, 1, old), 0, ""},
	{"stay what is free", state{}, stay(me), "-1", "not held", state{ttl: missing}, 0, ""},
	{"stay what another holds", held(other, 1, old), stay(me), "-1", "not held", held(other, 1, old), 0, ""},
	{"stay a string", state{"=x", none}, stay(me), "error WRONGTYPE", "error", state{"=x", none}, 0, ""},
	{"renew what stays", held(resting, 1, old), renew(me), "0", "gone", held(resting, 1, old), 0, ""},

	{"move", held(me, 1, old), hand, "n > 0", "moved", held(other, 1, lease), 0, ""},
	{"move for less than is left", held(me, 1, 2*lease), hand, "n > 0", "moved", held(other, 1, 2*lease), 0, ""},
	{"move what a late re-entry counts twice", held(me, 2, old), hand, "n > 0", "moved", held(other, 1, lease), 0, ""},
	{"move late what has moved", held(other, 2, old), hand, "n > 0", "moved", held(other, 2, lease), 0, ""},
	{"move what is free", state{}, hand, "0", "not held", state{ttl: missing}, 0, ""},
	{"move what a third one holds", held(resting, 1, old), hand, "0", "not held", held(resting, 1, old), 0, ""},
	{"move a string", state{"=x", none}, hand, "error WRONGTYPE", "error", state{"=x", none}, 0, ""},

	{"renew", held(me, 2, old), renew(me), "1", "kept", held(me, 2, lease), 0, ""},
	{"renew for less than is left", held(me, 2, 2*lease), renew(me), "1", "kept", held(me, 2, 2*lease), 0, ""},
	{"renew what has no expiry", held(me, 2, none), renew(me), "1", "kept", held(me, 2, lease), 0, ""},
	{"renew what is gone", state{}, renew(me), "0", "gone", state{ttl: missing}, 0, ""},
	{"renew what another holds", held(other, 1, old), renew(me), "0", "gone", held(other, 1, old), 0, ""},
	{"renew a string", state{"=x", old}, renew(me), "0", "gone", state{"=x", old}, 0, ""},

	{"force what is held", held(other, 3, old), force, "1", "was held", state{ttl: missing}, 1, "0"},
	{"force what is held for ever", held(other, 1, none), force, "error NOTLOCK", "error", held(other, 1, none), 0, ""},
	{"force what one holds for ever", held(other, 1, none), forceFrom(other), "1", "was held", state{ttl: missing}, 1, "0"},
	{"force what a negative number holds", held(other[:37]+"-1", 1, old), force, "1", "was held", state{ttl: missing}, 1, "0"},
	{"force what is free", state{}, force, "0", "was free", state{ttl: missing}, 0, ""},
	{"force a hash of several fields", state{me + "=1 mode=read", old}, force, "error NOTLOCK", "error", state{me + "=1 mode=read", old}, 0, ""},
	{"force a hash of one field that is no owner", state{"hits=5", old}, force, "error NOTLOCK", "error", state{"hits=5", old}, 0, ""},
	{"force a hash without an owner", state{"name=x", old}, force, "error NOTLOCK", "error", state{"name=x", old}, 0, ""},
	{"force what one of any name holds", state{"hits=5", none}, forceFrom("hits"), "1", "was held", state{ttl: missing}, 1, "0"},
	{"force what one is said to hold, but has no count", state{"hits=x", none}, forceFrom("hits"), "error NOTLOCK", "error", state{"hits=x", none}, 0, ""},
	{"force what one holds", held(me, 3, old), forceFrom(me), "1", "was held", state{ttl: missing}, 1, "0"},
	{"force what another holds", held(other, 1, old), forceFrom(me), "0", "was free", held(other, 1, old), 0, ""},
	{"force what one does not hold", state{}, forceFrom(me), "0", "was free", state{ttl: missing}, 0, ""},
	{"force a string", state{"=x", none}, force, "error WRONGTYPE", "error", state{"=x", none}, 0, ""},

	{"status of what is free", state{}, status, freeReply, "free, token 0", state{ttl: missing}, 0, ""},
	{"status of what is held", held(me, 2, old), status, statusReply, me + "=2 for 40s, token 0", held(me, 2, old), 0, ""},
	{"status of what is held for ever", held(me, 2, none), status, statusReply, me + "=2 for ever, token 0", held(me, 2, none), 0, ""},
	{"status of a hash of several fields", state{"a=1 b=2", none}, status, "error NOTLOCK", "error", state{"a=1 b=2", none}, 0, ""},
	{"status of a string", state{"=x", none}, status, "error WRONGTYPE", "error", state{"=x", none}, 0, ""},
}

const (
	freeReply   = "{ttl, token}"
	statusReply = "{ttl, token, owner, count, noted}"
)

func held(owner string, count int, ttl time.Duration) state {
	return state{fmt.Sprintf("%s=%d", owner, count), ttl}
}

func acquire(owner string, count int) func(string) script.Call {
	return func(key string) script.Call {
		return script.Mutex{Lock: key}.Acquire(owner, script.Counts{Writes: count}, lease, false)
	}
}

func release(owner string, remaining int) func(string) script.Call {
	return func(key string) script.Call {
		return script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.Release(owner, 0, script.Counts{Writes: remaining}, lease)
	}
}

func stay(owner string) func(string) script.Call {
	return func(key string) script.Call {
		return script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.MinHold(owner, lease, true)
	}
}

func hand(key string) script.Call { return script.Mutex{Lock: key}.Move(me, other, false, lease) }

func renew(owner string) func(string) script.Call {
	return func(key string) script.Call {
		return script.Renew([]script.Renewal{{Lock: key, Field: owner, Lease: lease}})
	}
}

func force(key string) script.Call {
	return script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.Force("")
}
func forceFrom(owner string) func(string) script.Call {
	return func(key string) script.Call {
		return script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.Force(owner)
	}
}

func status(key string) script.Call { return script.Mutex{Lock: key}.Status("")[0] }

func TestEveryReplyLeavesTheStateThatTheHeaderPromises(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range table {
			t.Run(r.what, func(t *testing.T) {
				key := redistest.Name(t)
				s.put(t, key, r.given)
				sub := s.listen(t, protocol.LockChannel(key))
				call := r.call(key)

				reply := s.run(t, call)
				if got := label(call, reply); got != r.reply {
					t.Errorf("the reply is %s, want %s: %+v", got, r.reply, reply)
				}
				if got := read(call, reply); got != r.read {
					t.Errorf("it reads as %q, want %q", got, r.read)
				}
				if got := s.state(t, key); !got.is(r.then) {
					t.Errorf("it left %v, want %v", got, r.then)
				}
				wantAnnounced(t, sub, r.published)

				// Whoever does not hear the reply sends the call again.
				again := s.run(t, call)
				if want := orElse(r.again, r.reply); label(call, again) != want {
					t.Errorf("repeated, the reply is %s, want %s: %+v", label(call, again), want, again)
				}
				if got := s.state(t, key); !got.is(r.then) {
					t.Errorf("repeated, it left %v, want %v", got, r.then)
				}
				wantAnnounced(t, sub, 0)
				if keys := s.must(t, "KEYS", "*"+key+"*").Array; r.then.ttl == missing && len(keys) > 0 || len(keys) > 1 {
					t.Errorf("it left the keys %v", keys)
				}
			})
		}
	})
}

func wantAnnounced(t *testing.T, sub *subscriber, times int) {
	t.Helper()
	if got, want := sub.received(t), slices.Repeat([]string{"0"}, times); !slices.Equal(got, want) {
		t.Errorf("published %q, want %q", got, want)
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// The table has a row for every reply that a header lists, and none besides. The one
// that needs a server with an ACL, and tokens, have tests of their own.
func TestEveryReplyInAHeaderIsProducedByTheTable(t *testing.T) {
	t.Parallel()
	listed := regexp.MustCompile(`(?m)^--   ((?:error [A-Z]+|\{[^}]*\}|n >=? 0|-?\d+)) +\S`)
	inline := regexp.MustCompile(`(?m)^-- Reply: (\{[^}]*\})(?: or (\{[^}]*\}))?`)
	for _, p := range pages(t) {
		produced := []string{}
		for _, r := range table {
			if r.call("k").Script() == p.name {
				produced = append(produced, r.reply)
			}
		}
		switch {
		case len(produced) == 0:
			continue // not of a mutex
		case p.name == "release":
			produced = append(produced, "-2")
		case p.name == "renew":
			produced = append(produced, "-1")
		case p.name == "acquire":
			produced = append(produced, "{token}")
		}
		var promised []string
		for _, match := range append(listed.FindAllStringSubmatch(p.header, -1), inline.FindAllStringSubmatch(p.header, -1)...) {
			promised = append(promised, match[1:]...)
		}
		slices.Sort(produced)
		slices.Sort(promised)
		promised = slices.DeleteFunc(promised, func(reply string) bool { return reply == "" })
		produced = slices.Compact(produced)
		if !slices.Equal(produced, promised) {
			t.Errorf("%s: the header lists %q, the table produces %q", p.name, promised, produced)
		}
	}
}
