package inspect_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// limited is an inspector of a user that may do everything but some commands.
func limited(t *testing.T, s *redistest.Server, rights ...string) *inspect.Inspector {
	t.Helper()
	user := redistest.Name(t)
	s.CLI(t, append([]string{"ACL", "SETUSER", user, "on", ">p", "~*", "&*", "+@all"}, rights...)...)
	return inspector(t, open(t, strings.Replace(s.URL(), "redis://", "redis://"+url.UserPassword(user, "p").String()+"@", 1), redlatch.Config{}).Driver(), fast)
}

// Goal: a right that is missing makes unknown what it is for, and nothing else, and says so. Without
// the rights to find or to read locks there is an error that names them.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	c := open(t, s.URL(), redlatch.Config{})
	p := redistest.Name(t) + ":"
	redistest.Must(c.Mutex(p + "a").Lock(t.Context()))
	walked(t, inspector(t, c.Driver(), fast), p+"*") // from here on the server has the scripts: -eval is enough
	for right, want := range map[string]struct{ notice, failure string }{
		"-client|list":     {notice: "The processes of owners are unknown: this user lacks the right +client|list"},
		"-pubsub|numsub":   {notice: "The numbers of waiting processes are unknown: this user lacks the right +pubsub|numsub"},
		"-zmscore":         {notice: "What the watchdogs know is unknown: this user lacks the right +zmscore"},
		"-time":            {failure: "+evalsha, +eval"},
		"-scan":            {failure: "+scan"},
		"-evalsha":         {failure: "+evalsha"},
		"-eval":            {},
		"-memory|usage":    {},
		"resetkeys ~none*": {notice: "Some keys were left out: this user may not read them"},
	} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			i := limited(t, s, strings.Fields(right)...)
			found, failure := 0, error(nil)
			for l, err := range i.Locks(t.Context(), p+"*") {
				if err != nil {
					failure = err
					continue
				}
				found++
				if (l.Waiting == -1) != (right == "-pubsub|numsub") || (l.Holders[0].Process == nil) != (right == "-client|list") {
					t.Errorf("%+v", l)
				}
			}
			denied, isDenied := errors.AsType[*inspect.RightError](failure)
			if isDenied != (want.failure != "") || isDenied && (!strings.HasPrefix(denied.Right, want.failure) || found > 0) {
				t.Errorf("found %d, %v; want %q", found, failure, want.failure)
			}
			if got := strings.Join(i.Notices(), "; "); got != want.notice {
				t.Errorf("notices %q, want %q", got, want.notice)
			}
		})
	}
}

// Goal: a server that refuses a command is not asked again: each refusal is a line
// of its ACL LOG.
func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.CLI(t, "HSET", "a", java(1, 1), "1")
	s.CLI(t, "HSET", "b", java(1, 1), "1")
	for _, right := range []string{"-client|list", "-pubsub|numsub", "-zmscore", "-hrandfield"} {
		i := limited(t, s, right)
		for range 3 {
			walked(t, i, "*")
		}
		log := s.CLI(t, "ACL", "LOG").([]any)
		if len(log) != 1 || log[0].([]any)[1] != int64(1) {
			t.Errorf("%s: %v", right, log)
		}
		s.CLI(t, "ACL", "LOG", "RESET")
	}
}

// Goal: an inspector writes nothing. Method: its user has no command that writes, and the server's log
// of refusals stays empty.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.CLI(t, "HSET", "a", "mode", "read", java(1, 1), "1")
	s.CLI(t, "RPUSH", "redisson_lock_queue:{b}", java(1, 1))
	i := limited(t, s, "-@write")
	for range i.Audit(t.Context(), "") {
		continue
	}
	for range i.Follow(t.Context(), "", 0) {
		break
	}
	for range i.Watch(t.Context(), "a", 0) {
		break
	}
	if log := s.CLI(t, "ACL", "LOG").([]any); len(log) != 0 {
		t.Errorf("%v", log)
	}
}

// Goal: an audit of a user that may read some keys leaves out the others, also their timeout keys, and finds
// what it may see.
func TestAuditLeavesOutWhatItMayNotRead(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	for _, name := range []string{"mine", "other"} {
		s.CLI(t, "SET", protocol.ReadTimeoutKey(name, java(1, 1), 1), "1")
	}
	i := limited(t, s, "resetkeys", "~mine*", "~{mine*", "~redisson_*:{mine*", "~redlatch:*")
	found := 0
	for l, err := range i.Audit(t.Context(), "*") {
		if err != nil || l.Name != "mine" {
			t.Errorf("%+v, %v", l, err)
		}
		found++
	}
	if got := strings.Join(i.Notices(), "; "); found != 1 || got != "Some keys were left out: this user may not read them" {
		t.Errorf("found %d; notices %q", found, got)
	}
}

// Goal: a command of the script that is refused is an error that says so. It is no finding: somebody would
// delete the queue of a lock that is sound.
func TestARefusalWithinTheScriptIsNoFinding(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	d := connectTo(t, s)
	do(t, d, "HSET", "fair", java(1, 1), "1")
	do(t, d, "PEXPIRE", "fair", "3600000")
	do(t, d, "RPUSH", protocol.FairQueue("fair"), java(2, 2))
	do(t, d, "ZADD", protocol.FairDeadlines("fair"), "9e12", java(2, 2))
	do(t, d, "HSET", "rw", "mode", "read", java(1, 1), "1")
	do(t, d, "PEXPIRE", "rw", "3600000")
	do(t, d, "SET", protocol.ReadTimeoutKey("rw", java(1, 1), 1), "1")
	for _, command := range []string{"llen", "zcard", "lrange", "hexists", "hget", "hgetall", "hlen", "hstrlen", "pttl", "exists", "strlen"} {
		i := limited(t, s, "-"+command)
		for _, name := range []string{"fair", "rw"} {
			l, err := i.Lock(t.Context(), name)
			_, denied := errors.AsType[*inspect.RightError](err)
			if len(l.Findings) > 0 || err != nil && !denied || err == nil && len(l.Holders) != 1 {
				t.Errorf("without %s: %+v, %v", command, l, err)
			}
		}
	}
}
