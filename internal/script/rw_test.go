package script_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: the scripts of a read-write lock do what their headers promise, in every state and
// also when a call is repeated. Method: a table, on both servers.

type rwRow struct {
	what      string
	given     string
	call      rwCall
	reply     string
	then      string
	published string
	again     string // the reply to a repetition, if it is another
}

var rwTable = []rwRow{
	{"write a free lock", "", rwAcquire("A", 1, 0), "1", "write A:write=1 lease", "", ""},
	{"write once more", "write A:write=1 old", rwAcquire("A", 2, 0), "1", "write A:write=2 lease", "", ""},
	{"write once more for less", "write A:write=1 long", rwAcquire("A", 2, 0), "1", "write A:write=2 long", "", ""},
	{"write beside a writer", "write B:write=1 old", rwAcquire("A", 1, 0), "{old, B}", "write B:write=1 old", "", ""},
	{"write beside a writer who reads", "write B:write=1 B=1 old / B1old", rwAcquire("A", 1, 0), "{old, B}", "write B:write=1 B=1 old / B1old", "", ""},
	{"write beside a writer for ever", "write B:write=1 ever", rwAcquire("A", 1, 0), "{ever, B}", "write B:write=1 ever", "", ""},
	{"write beside a reader", "read B=1 long / B1old", rwAcquire("A", 1, 0), "{old, B}", "read B=1 long / B1old", "", ""},
	{"write beside a reader whose key has no expiry", "read B=1 long / B1ever", rwAcquire("A", 1, 0), "{long, B}", "read B=1 long / B1ever", "", ""},
	{"write beside a reader with holes", "read B=3 long / B3old", rwAcquire("A", 1, 0), "{old, B}", "read B=3 long / B3old", "", ""},
	{"write beside a dead reader", "read B=1 long", rwAcquire("A", 1, 0), "1", "write A:write=1 lease", "", ""},
	{"write beside a reader that may be data", "read size=1 old", rwAcquire("A", 1, 0), "{old, size}", "read size=1 old", "", ""},
	{"write beside what has no expiry", "read B=1 ever", rwAcquire("A", 1, 0), "{ever, B}", "read B=1 ever", "", ""},
	{"write inside one's own reading", "read A=1 old / A1old", rwAcquire("A", 1, 0), "{old, A}", "read A=1 old / A1old", "", ""},
	{"write inside what is left of one's own writing", "read A:write=1 B=1 old / B1old", rwAcquire("A", 1, 0), "{old, B}", "read B=1 old / B1old", "", ""},
	{"write once more what is gone", "", rwAcquire("A", 2, 0), "0", "", "", ""},
	{"write once more what is only read by now", "read A=1 old / A1old", rwAcquire("A", 2, 0), "0", "read A=1 old / A1old", "", ""},

	{"read a free lock", "", rwAcquire("A", 0, 1), "1", "read A=1 lease / A1lease", "", ""},
	{"read once more", "read A=1 old / A1old", rwAcquire("A", 0, 2), "1", "read A=2 lease / A1lease A2lease", "", ""},
	{"read once more for less", "read A=1 long / A1long", rwAcquire("A", 0, 2), "1", "read A=2 long / A1long A2lease", "", ""},
	{"read beside a reader", "read B=1 long / B1long", rwAcquire("A", 0, 1), "1", "read A=1 B=1 long / A1lease B1long", "", ""},
	{"read beside a writer", "write B:write=1 old", rwAcquire("A", 0, 1), "{old, B}", "write B:write=1 old", "", ""},
	{"read once more beside another writer", "write A=1 B:write=1 old", rwAcquire("A", 0, 2), "0", "write A=1 B:write=1 old", "", ""},
	{"read inside one's own writing", "write A:write=1 old", rwAcquire("A", 1, 1), "1", "write A:write=1 A=1 lease / A1lease", "", ""},
	{"read inside one's own writing that is gone", "", rwAcquire("A", 1, 1), "0", "", "", ""},
	{"read inside one's own writing that another has", "write B:write=1 old", rwAcquire("A", 1, 1), "0", "write B:write=1 old", "", ""},
	{"read inside one's own writing that ended", "read A=1 old / A1old", rwAcquire("A", 1, 1), "0", "read A=1 old / A1old", "", ""},
	{"read once more when the end of writing was lost", "write A:write=1 A=1 old / A1old", rwAcquire("A", 0, 2), "1", "read A=2 lease / A1lease A2lease", "", ""},
	{"read once more what is gone", "", rwAcquire("A", 0, 2), "0", "", "", ""},
	{"read what has no expiry", "read B=1 ever", rwAcquire("A", 0, 1), "error NOTLOCK", "read B=1 ever", "", ""},

	{"end writing", "write A:write=1 old", rwRelease("A", 0, 0, 0), "n >= 0", "", "1", "-1"},
	{"end one of two writes", "write A:write=2 old", rwRelease("A", 0, 1, 0), "-3", "write A:write=1 lease", "", ""},
	{"end writing and reading at once", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 0, 0), "n >= 0", "", "1", "-1"},
	{"end writing but go on reading", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 0, 1), "n >= 0", "read A=1 lease / A1lease", "1", "-3"},
	{"end writing but go on reading, with the key gone", "write A:write=1 A=1 old", rwRelease("A", 1, 0, 1), "n >= 0", "read A=1 lease / A1lease", "1", "-3"},
	{"end writing among dead readers", "write A:write=1 B=1 old", rwRelease("A", 0, 0, 0), "n >= 0", "", "1", "-1"},
	{"end writing among living readers", "write A:write=1 B=1 old / B1old", rwRelease("A", 0, 0, 0), "n >= 0", "read B=1 old / B1old", "1", "-1"},
	{"end reading inside writing", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 1, 0), "-3", "write A:write=1 lease", "", ""},
	{"end reading when the writing was lost", "write A=1 old / A1old", rwRelease("A", 1, 0, 0), "n >= 0", "", "1", "-1"},
	{"end reading beside another writer", "write A=1 B:write=1 old", rwRelease("A", 1, 0, 0), "-3", "write B:write=1 old", "", "-1"},
	{"end one of two reads beside another writer", "write A=2 B:write=1 old", rwRelease("A", 2, 0, 1), "-3", "write A=1 B:write=1 lease / A1lease", "", ""},
	{"end reading", "read A=1 old / A1old", rwRelease("A", 1, 0, 0), "n >= 0", "", "0", "-1"},
	{"end one of two reads", "read A=2 old / A1old A2old", rwRelease("A", 2, 0, 1), "-3", "read A=1 lease / A1lease", "", ""},
	{"end one of two reads, for less", "read A=2 long / A1long A2long", rwRelease("A", 2, 0, 1), "-3", "read A=1 long / A1long", "", ""},
	{"end reading beside a reader", "read A=1 B=1 long / A1long B1old", rwRelease("A", 1, 0, 0), "-3", "read B=1 long / B1old", "", "-1"},
	{"end reading beside a dead reader", "read A=1 B=1 long / A1long", rwRelease("A", 1, 0, 0), "n >= 0", "", "0", "-1"},
	{"end reading beside what may be data", "read A=1 size=1 long / A1long", rwRelease("A", 1, 0, 0), "-3", "read size=1 long", "", "-1"},
	{"end a write that ended already", "read A=1 old / A1old", rwRelease("A", 1, 1, 0), "-1", "read A=1 old / A1old", "", ""},
	{"end a write of which a field is left", "read A:write=1 A=1 old / A1old", rwRelease("A", 1, 1, 0), "-1", "read A:write=1 A=1 old / A1old", "", ""},
	{"end what another holds", "read B=1 old / B1old", rwRelease("A", 1, 0, 0), "-1", "read B=1 old / B1old", "", ""},
	{"end what is free", "", rwRelease("A", 1, 0, 0), "-1", "", "", ""},

	{"renew reading", "read A=2 old / A1old A2old", rwRenew("A", 0, 2), "1", "read A=2 lease / A1lease A2lease", "", ""},
	{"renew reading for less", "read A=2 long / A1long A2old", rwRenew("A", 0, 2), "1", "read A=2 long / A1long A2lease", "", ""},
	{"renew reading whose keys are gone", "read A=2 B=1 old / B1old", rwRenew("A", 0, 2), "1", "read A=2 B=1 lease / A1lease A2lease B1old", "", ""},
	{"renew reading that is gone", "read B=1 old / B1old", rwRenew("A", 0, 1), "0", "read B=1 old / B1old", "", ""},
	{"renew writing", "write A:write=2 old", rwRenew("A", 2, 0), "1", "write A:write=2 lease", "", ""},
	{"renew writing that reads", "write A:write=1 A=1 long / A1old", rwRenew("A", 1, 1), "1", "write A:write=1 A=1 long / A1lease", "", ""},
	{"renew writing that ends meanwhile", "read A=1 old / A1old", rwRenew("A", 1, 1), "1", "read A=1 lease / A1lease", "", ""},
	{"renew a second read that ended meanwhile", "read A=1 old / A1old", rwRenew("A", 0, 2), "1", "read A=1 lease / A1lease", "", ""},
	{"renew reading when the end of writing was lost", "write A:write=1 A=1 old / A1old", rwRenew("A", 0, 1), "1", "read A=1 lease / A1lease", "", ""},

	{"move reading", "read A=1 old / A1old", rwMove(true), "n > 0", "read B=1 lease / B1lease", "", ""},
	{"move reading for less, with a late second read", "read A=2 long / A1long A2old", rwMove(true), "n > 0", "read B=1 long / A2old B1long", "", ""},
	{"move reading whose key is gone", "read A=1 C=1 old / C1old", rwMove(true), "n > 0", "read B=1 C=1 lease / B1lease C1old", "", ""},
	{"move reading that has moved", "read B=1 old / B1old", rwMove(true), "n > 0", "read B=1 lease / B1lease", "", ""},
	{"move reading that is gone", "read C=1 old / C1old", rwMove(true), "0", "read C=1 old / C1old", "", ""},
	{"move dead reading beside a writer", "write A=1 C:write=1 old", rwMove(true), "0", "write A=1 C:write=1 old", "", ""},
	{"move writing", "write A:write=1 old", rwMove(false), "n > 0", "write B:write=1 lease", "", ""},
	{"move writing with a late read inside", "write A:write=1 A=1 old / A1old", rwMove(false), "n > 0", "write B:write=1 lease / A1old", "", ""},
	{"move writing that is gone", "read A=1 old / A1old", rwMove(false), "0", "read A=1 old / A1old", "", ""},

	{"force readers", "read A=1 B=2 old / A1old B1old B2old", rwForce(""), "1", "", "0", "0"},
	{"force a writer", "write A:write=1 A=1 old / A1old", rwForce(""), "1", "", "1", "0"},
	{"force what is free", "", rwForce(""), "0", "", "", ""},
	{"force what has no expiry", "read A=1 ever / A1old", rwForce(""), "error NOTLOCK", "read A=1 ever / A1old", "", ""},
	{"force what may be data", "read A=1 size=1 old / A1old", rwForce(""), "error NOTLOCK", "read A=1 size=1 old / A1old", "", ""},
	{"force what may be data, from its owner", "read size=1 ever", rwForce("size"), "1", "", "0", "0"},
	{"force one reader of two", "read A=2 B=1 old / A1old A2old B1old", rwForce("A"), "1", "read B=1 old / B1old", "", "0"},
	{"force one reader beside a dead one", "read A=1 B=1 old / A1old", rwForce("A"), "1", "", "0", "0"},
	{"force the only reader", "read A=1 old / A1old", rwForce("A"), "1", "", "0", "0"},
	{"force the writer", "write A:write=1 A=1 old / A1old", rwForce("A"), "1", "", "1", "0"},
	{"force only a write", "write A:write=1 A=1 old / A1old", rwForce("A:write"), "1", "read A=1 old / A1old", "1", "0"},
	{"force a dead reader beside a writer", "write A=1 B:write=1 old", rwForce("A"), "1", "write B:write=1 old", "", "0"},
	{"force from whom does not hold it", "read A=1 old / A1old", rwForce("B"), "0", "read A=1 old / A1old", "", ""},
	{"force from the field of the mode", "read A=1 old / A1old", rwForce("mode"), "0", "read A=1 old / A1old", "", ""},

	{"status of a free lock", "", rwStatus, "free, -2ms", "", "", ""},
	{"status of readers", "read A=2 B=1 lease / A1old A2lease", rwStatus, "read lease: A=2 lease, B=1 0s", "read A=2 B=1 lease / A1old A2lease", "", ""},
	{"status of a writer", "write A:write=1 A=1 lease / A1old", rwStatus, "write lease: A:write=1 lease, A=1 old", "write A:write=1 A=1 lease / A1old", "", ""},
	{"status of one reader of two", "read A=2 B=1 lease / A1old A2lease B1old", rwStatusOf("B"), "read lease: B=1 old of 2", "read A=2 B=1 lease / A1old A2lease B1old", "", ""},
	{"status of a writer that reads", "write A:write=1 A=1 lease / A1old", rwStatusOf("A"), "write lease: A:write=1 lease, A=1 old", "write A:write=1 A=1 lease / A1old", "", ""},
	{"status of no owner", "read A=1 lease / A1old", rwStatusOf("mode"), "read lease:  of 1", "read A=1 lease / A1old", "", ""},
	{"status of what has no expiry", "read B=1 ever", rwStatus, "read ever: B=1 ever", "read B=1 ever", "", ""},
}

func TestEveryReplyOfAReadWriteLockLeavesWhatTheHeaderPromises(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, r := range rwTable {
			t.Run(r.what, func(t *testing.T) {
				key := redistest.Name(t)
				s.putRW(t, key, r.given)
				sub := s.listen(t, protocol.RWChannel(key))
				call := r.call(key)
				for run, want := range []string{r.reply, orElse(r.again, r.reply)} {
					// Whoever does not hear the reply sends the call again.
					if got := rwReply(call, s.run(t, call)); got != want {
						t.Errorf("the reply to run %d is %s, want %s", run, got, want)
					}
					if got := s.rw(t, key); got != r.then {
						t.Errorf("run %d left %q, want %q", run, got, r.then)
					}
				}
				if got := strings.Join(sub.received(t), " "); got != r.published {
					t.Errorf("published %q, want %q", got, r.published)
				}
			})
		}
	})
}

// The table has a row for every reply that a header lists, and none besides. WRONGTYPE and
// NOTLOCK, tokens, and a server with an ACL have tests of their own.
func TestEveryReplyInAHeaderOfAReadWriteLockIsProduced(t *testing.T) {
	t.Parallel()
	listed := regexp.MustCompile(`(?m)^--   (\{[^}]*\}|n >= 0|-?\d+) +\S`)
	for _, p := range pages(t) {
		var produced, promised []string
		for _, r := range rwTable {
			if call := r.call("k"); call.Script() == p.name && !strings.HasPrefix(r.reply, "error") {
				reply := r.reply
				if strings.HasPrefix(reply, "{") {
					reply = "{ttl, holder}"
				}
				produced = append(produced, reply)
			}
		}
		switch p.name {
		case "rw_acquire":
			produced = append(produced, "{token}")
		case "rw_release":
			produced = append(produced, "-2")
		case "rw_force":
		default:
			continue
		}
		for _, match := range listed.FindAllStringSubmatch(p.header, -1) {
			promised = append(promised, match[1])
		}
		if got, want := sorted(produced), sorted(promised); !slices.Equal(got, want) {
			t.Errorf("%s: the header lists %q, the table produces %q", p.name, want, got)
		}
	}
}

// Goal: a release is done even where the server refuses its message.
func TestAReleaseOfAReadWriteLockThatMayNotPublishStillFrees(t *testing.T) {
	t.Parallel()
	redis := redistest.Start(t)
	redis.CLI(t, "ACL", "SETUSER", "nopublish", "on", ">secret", "~*", "resetchannels", "+@all")
	s := connectWith(t, rueidis.Options{Address: redis.Addr(), Username: "nopublish", Password: "secret"})
	for _, r := range []rwRow{
		{"end writing", "write A:write=1 old", rwRelease("A", 0, 0, 0), "-2", "", "", ""},
		{"end writing but go on reading", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 0, 1), "-2", "read A=1 lease / A1lease", "", ""},
		{"end reading", "read A=1 old / A1old", rwRelease("A", 1, 0, 0), "-2", "", "", ""},
		{"force", "read A=1 old / A1old", rwForce(""), "1", "", "", ""},
	} {
		s.putRW(t, "job", r.given)
		wantLeft(t, r.what, rwReply(r.call("job"), s.run(t, r.call("job"))), r.reply, s.rw(t, "job"), r.then)
	}
}
