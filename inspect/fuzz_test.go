package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

const fuzzOwner = "00000001-0000-4000-8000-000000000000:7"

// Goal: no key of others is taken for a part of a lock. Method: what is parsed must write the same key
// again, so that it is this lock's and nobody else's; and what the protocol writes is parsed.
func FuzzKeysOfLocks(f *testing.F) {
	for _, seed := range []string{"job", "a:b", "{tag}x", "half{brace", "}", "\x00\xff", "{a}:" + fuzzOwner + ":rwlock_timeout:1", "redisson_lock_queue:{a}"} {
		f.Add(seed, 1)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		if name, ok := parseQueue(text); ok && protocol.FairQueue(name) != text {
			t.Errorf("%q is no queue of %q", text, name)
		}
		if name, owner, hold, ok := parseTimeout(text); ok && (protocol.ReadTimeoutKey(name, owner, hold) != text || !isOwner(owner)) {
			t.Errorf("%q is no timeout key of %q, %q, %d", text, name, owner, hold)
		}
		if name, ok := parsePermits(text); ok && protocol.PermitsInUse(name) != text {
			t.Errorf("%q has no permits of %q", text, name)
		}
		if text == "" {
			return
		}
		if name, ok := parsePermits(protocol.PermitsInUse(text)); !ok || name != text && twin(name) != text {
			t.Errorf("the permits of %q are taken for those of %q: %v", text, name, ok)
		}
		if name, ok := parseQueue(protocol.FairQueue(text)); !ok || protocol.FairQueue(name) != protocol.FairQueue(text) {
			t.Errorf("the queue of %q is taken for that of %q: %v", text, name, ok)
		}
		key := protocol.ReadTimeoutKey(text, fuzzOwner, n)
		if name, owner, hold, ok := parseTimeout(key); !ok || owner != fuzzOwner || hold != n || protocol.ReadTimeoutKey(name, owner, hold) != key {
			t.Errorf("%q was parsed as %q, %q, %d: %v", key, name, owner, hold, ok)
		}
	})
}

// Goal: an owner is what a client of the protocol writes, whatever else stands in a hash.
func FuzzOwners(f *testing.F) {
	for _, seed := range []string{"", fuzzOwner, fuzzOwner[:37] + fuzzOwner[:36], fuzzOwner[:37], fuzzOwner[:37] + "+1", fuzzOwner[:37] + "-1", "x" + fuzzOwner, fuzzOwner + ":write"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !isOwner(text) {
			return
		}
		client, rest := text[:uuidLen], text[uuidLen+1:]
		number := strings.Trim(strings.TrimPrefix(rest, "-"), "0123456789") == ""
		if !isUUID(client) || strings.Count(client, "-") != 4 || !number && !isUUID(rest) {
			t.Errorf("%q counts as an owner", text)
		}
	})
}

func isUUID(text string) bool {
	for i := range len(text) {
		switch dash := i == 8 || i == 13 || i == 18 || i == 23; {
		case dash && text[i] == '-', !dash && strings.IndexByte("0123456789abcdefABCDEF", text[i]) >= 0:
		default:
			return false
		}
	}
	return len(text) == uuidLen
}

// Goal: no reply of a server stops a reading, or makes a lock of what is none. Method: replies of every
// shape, built from the input.
func FuzzReplies(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07"), "0", "exclusive", fuzzOwner, "1")
	f.Fuzz(func(t *testing.T, shape []byte, token, mode, field, count string) {
		at := 0
		next := func() int {
			if at++; at > len(shape) {
				return 0
			}
			return int(shape[at-1])
		}
		var make func(depth int) driver.Reply
		texts := []string{token, mode, field, count, ""}
		make = func(depth int) driver.Reply {
			switch n := next(); {
			case n%4 == 0 && depth < 3:
				r := driver.Reply{Array: []driver.Reply{}}
				for range n / 16 {
					r.Array = append(r.Array, make(depth+1))
				}
				return r
			case n%4 == 1:
				return driver.Reply{Int: int64(n) - 128}
			case n%4 == 2:
				return driver.Reply{IsNil: true}
			default:
				return driver.Reply{Str: texts[n/4%len(texts)]}
			}
		}
		one := read("job", make(0))
		if one.isLock && (one.err != nil || len(one.lock.Holders) == 0 || one.lock.Mode == "") {
			t.Errorf("%+v", one)
		}
		whole := driver.Reply{Array: []driver.Reply{{Int: 1}, {Int: int64(next()) - 3}, {Str: token}, {Str: mode}, {Int: int64(next())},
			{Int: int64(next()) - 2}, {Int: int64(next()) - 2},
			{Array: []driver.Reply{{Str: field}, {Str: count}}},
			{Array: []driver.Reply{{Str: field}, {Str: count}, {Array: []driver.Reply{{Int: int64(next()) - 3}}}, {Array: []driver.Reply{}}}}}}
		one = read("job", whole)
		if one.isLock && !isOwner(one.lock.Holders[0].Owner) {
			t.Errorf("%+v", one)
		}
		if _, err := one.lock.MarshalJSON(); err != nil {
			t.Error(err)
		}
		permits := driver.Reply{Array: []driver.Reply{{Str: field}, {Str: token}}}
		for _, reply := range []driver.Reply{make(0), {Array: []driver.Reply{{Int: 1}, {Int: int64(next()) - 3}, {Str: count}, {Int: int64(next()) - 2}, {Int: int64(next())}, permits}}} {
			c := readCounter("job", reply)
			if _, err := c.MarshalJSON(); err != nil || slices.ContainsFunc(c.Permits, func(p Permit) bool { return len(p.ID) != 32 }) {
				t.Errorf("%+v, %v", c, err)
			}
		}
	})
}
