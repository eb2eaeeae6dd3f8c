package script_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// How tests write a read-write lock: "read A=1 B=2 old / A1old B1old B2old" is mode read,
// two readers, a lock that lives for old, and the timeout keys of three holds. A free lock
// is "". A is me, B is other; anything else is a field of that name.

// spansOf are the lives that tests tell from one another; "ever" is no expiry.
var spansOf = map[string]time.Duration{"old": old, "lease": lease, "long": 2 * lease}

var (
	toOwner   = strings.NewReplacer("A", me, "B", other)
	fromOwner = strings.NewReplacer(me, "A", other, "B")
)

// spanOf writes the life of a key.
func spanOf(ms int64) string {
	left := time.Duration(ms) * time.Millisecond
	for name, span := range spansOf {
		if left <= span+time.Second && left > span-slack {
			return name
		}
	}
	if ms == -1 {
		return "ever"
	}
	return left.String()
}

// expire gives a key the life that is written so.
func (s *server) expire(t testing.TB, key, span string) {
	t.Helper()
	if span != "ever" {
		s.must(t, "PEXPIRE", key, fmt.Sprint(spansOf[span].Milliseconds()))
	}
}

// putRW makes a read-write lock look as it is written.
func (s *server) putRW(t testing.TB, key, text string) {
	t.Helper()
	s.clearRW(t, key)
	if text == "" {
		return
	}
	lock, holds, _ := strings.Cut(text, " / ")
	words := strings.Fields(lock)
	hset := []string{"HSET", key, "mode", words[0]}
	for _, pair := range words[1 : len(words)-1] {
		field, count, _ := strings.Cut(pair, "=")
		hset = append(hset, toOwner.Replace(field), count)
	}
	s.must(t, hset...)
	s.expire(t, key, words[len(words)-1])
	for hold := range strings.FieldsSeq(holds) {
		timeout := protocol.ReadTimeoutKey(key, toOwner.Replace(hold[:1]), int(hold[1]-'0'))
		s.must(t, "SET", timeout, "1")
		s.expire(t, timeout, hold[2:])
	}
}

func (s *server) clearRW(t testing.TB, key string) {
	t.Helper()
	for _, left := range s.must(t, "KEYS", "*"+key+"*").Array {
		s.must(t, "DEL", left.Str)
	}
}

// rw writes what a read-write lock looks like.
func (s *server) rw(t testing.TB, key string) string {
	t.Helper()
	words := s.must(t, "HGETALL", key).Array
	var fields, holds []string
	mode := "none"
	for i := 0; i+1 < len(words); i += 2 {
		if words[i].Str == "mode" {
			mode = words[i+1].Str
			continue
		}
		fields = append(fields, fromOwner.Replace(words[i].Str)+"="+words[i+1].Str)
	}
	for _, timeout := range s.must(t, "KEYS", "*"+key+"*:rwlock_timeout:*").Array {
		name := strings.TrimPrefix(timeout.Str, protocol.ReadTimeoutPrefix(key)+":")
		holds = append(holds, strings.Replace(fromOwner.Replace(name), ":rwlock_timeout:", "", 1)+spanOf(s.must(t, "PTTL", timeout.Str).Int))
	}
	slices.Sort(fields)
	slices.Sort(holds)
	text := ""
	if len(words) > 0 {
		text = strings.Join(append(append([]string{mode}, fields...), spanOf(s.must(t, "PTTL", key).Int)), " ")
	}
	if len(holds) > 0 {
		text += " / " + strings.Join(holds, " ")
	}
	return text
}

// The calls of the tables, on the lock of a key.

type rwCall func(key string) script.Call

func rwAcquire(owner string, writes, reads int) rwCall {
	return func(key string) script.Call {
		return script.NewRW(key, protocol.Plain).Acquire(toOwner.Replace(owner), script.Counts{Writes: writes, Reads: reads}, lease, false)
	}
}

func rwRelease(owner string, most, writes, reads int) rwCall {
	return func(key string) script.Call {
		return script.NewRW(key, protocol.Plain).Release(toOwner.Replace(owner), most, script.Counts{Writes: writes, Reads: reads}, lease)
	}
}

func rwRenew(owner string, writes, reads int) rwCall {
	return func(key string) script.Call {
		return script.Renew([]script.Renewal{script.NewRW(key, protocol.Plain).Renewal(toOwner.Replace(owner), script.Counts{Writes: writes, Reads: reads}, writes == 0, lease)})
	}
}

func rwMove(read bool) rwCall {
	return func(key string) script.Call { return script.NewRW(key, protocol.Plain).Move(me, other, read, lease) }
}

func rwForce(owner string) rwCall {
	return func(key string) script.Call {
		return script.NewRW(key, protocol.Plain).Force(toOwner.Replace(owner))
	}
}

func rwStatus(key string) script.Call { return script.NewRW(key, protocol.Plain).Status("")[0] }

func rwStatusOf(owner string) rwCall {
	return func(key string) script.Call {
		return script.NewRW(key, protocol.Plain).Status(toOwner.Replace(owner))[0]
	}
}

// rwReply writes a reply, with A and B for the owners.
func rwReply(call script.Call, r driver.Reply) string {
	name := call.Script()
	switch {
	case r.Err != nil || name == "move":
		return label(call, r)
	case name == "renew":
		return fmt.Sprint(r.Array[0].Int)
	case name == "rw_release" && r.Int >= 0:
		return "n >= 0"
	case name == "rw_acquire" && len(r.Array) == 2:
		return "{" + spanOf(r.Array[0].Int) + ", " + fromOwner.Replace(r.Array[1].Str) + "}"
	case name == "rw_acquire" && len(r.Array) == 1:
		return "{token}"
	case name == "rw_status":
		return readStatusRW(r)
	}
	return fmt.Sprint(r.Int)
}

func readStatusRW(r driver.Reply) string {
	got, err := (script.RW{}).ReadStatus(r)
	if err != nil {
		return err.Error()
	}
	if got.Mode == "" {
		return fmt.Sprint("free, ", got.TTL)
	}
	var holders []string
	for _, h := range got.Holders {
		holders = append(holders, fromOwner.Replace(h.Name)+"="+h.Count+" "+spanOf(h.TTL.Milliseconds()))
	}
	slices.Sort(holders)
	text := got.Mode + " " + spanOf(got.TTL.Milliseconds()) + ": " + strings.Join(holders, ", ")
	if got.Owners != len(holders) {
		text += fmt.Sprint(" of ", got.Owners)
	}
	return text
}
