package script_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// decoded makes a reply of bytes: the first says what it is, and the rest what is in it.
func decoded(data []byte, depth int) (driver.Reply, []byte) {
	if len(data) < 2 {
		return driver.Reply{}, nil
	}
	kind, n, data := data[0]%6, int(data[1]), data[2:]
	switch kind {
	case 0:
		return driver.Reply{Int: int64(int8(n))}, data
	case 1: // a number of any size
		var number int64
		for range min(8, len(data)) {
			number, data = number<<8|int64(data[0]), data[1:]
		}
		return driver.Reply{Int: number}, data
	case 2:
		n = min(n, len(data))
		return driver.Reply{Str: string(data[:n])}, data[n:]
	case 3:
		return driver.Reply{IsNil: true}, data
	case 4:
		return driver.Reply{Err: &driver.ServerError{Message: "ERR in the middle"}}, data
	}
	list := driver.Reply{Array: []driver.Reply{}}
	for range n % 16 {
		if depth == 0 {
			break
		}
		var one driver.Reply
		one, data = decoded(data, depth-1)
		list.Array = append(list.Array, one)
	}
	return list, data
}

// encoded is the reverse of decoded, for seeds.
func encoded(r driver.Reply) []byte {
	switch {
	case r.Array != nil:
		data := []byte{5, byte(len(r.Array))}
		for _, one := range r.Array {
			data = append(data, encoded(one)...)
		}
		return data
	case r.IsNil:
		return []byte{3, 0}
	case r.Err != nil:
		return []byte{4, 0}
	case r.Str != "":
		return append([]byte{2, byte(len(r.Str))}, r.Str...)
	}
	data := []byte{1, 0}
	for shift := 56; shift >= 0; shift -= 8 {
		data = append(data, byte(r.Int>>shift))
	}
	return data
}

func replySeeds() []driver.Reply {
	text := func(s string) driver.Reply { return driver.Reply{Str: s} }
	number := func(n int64) driver.Reply { return driver.Reply{Int: n} }
	list := func(items ...driver.Reply) driver.Reply { return driver.Reply{Array: items} }
	const endless = 1<<63 - 1
	return []driver.Reply{
		number(1), number(0), number(-1), number(-3), number(endless), text("OK"), {IsNil: true}, list(), list(number(7)),
		list(number(30000), text("uuid:7")), list(number(endless), text("uuid:7")), list(number(1), number(endless), text("uuid:7")),
		list(number(30000), text("12"), text("uuid:7"), text("2")),
		list(number(-1), text("0"), text("read"), text("uuid:7"), text("1"), number(endless)),
		list(text("uuid:7"), text("1e15"), text("uuid:8"), text("inf"), text("uuid:9"), text("nan")),
		list(number(-2), text("uuid:7"), list(text("uuid:8")), list()),
		list(text("uuid:7 job"), text("read 2 30000 0"), text("x"), text("exclusive 1 9300000000000 9223372036854775807")),
		list(number(1760000000000), text("uuid"), text("1760000000000.5"), text("other"), text("-inf")),
	}
}

// FuzzReaders: whatever a server answers, a reader returns, and a life that is told as long is
// not taken for none.
func FuzzReaders(f *testing.F) {
	for _, seed := range replySeeds() {
		f.Add(encoded(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, _ := decoded(data, 3)
		sane := func(reader string, ttl time.Duration, ms int64) {
			if (ttl < 0) != (ms < 0) {
				t.Errorf("%s: of %d ms it makes %v", reader, ms, ttl)
			}
		}
		if got, err := script.ReadAcquired(r); err == nil && !got.Granted && !got.Gone {
			sane("acquired", got.TTL, r.Array[0].Int)
		}
		if got, at, err := script.ReadAcquiredAll(r, 3); err == nil && !got.Granted {
			sane("all", got.TTL, r.Array[1].Int)
			if at < 0 || at > 2 {
				t.Errorf("all: number %d of 3 is blocked", at)
			}
		}
		if got, err := (script.Mutex{}).ReadStatus(r); err == nil {
			sane("status", got.TTL, r.Array[0].Int)
		}
		if got, err := (script.RW{}).ReadStatus(r); err == nil {
			sane("status of rw", got.TTL, r.Array[0].Int)
			for i, h := range got.Holders {
				sane("holder", h.TTL, r.Array[3*i+5].Int)
			}
		}
		if got, err := script.ReadKeptAlive(r); err == nil {
			sane("kept alive", got.TTL, r.Array[0].Int)
		}
		queue, err := script.ReadQueue(r)
		for _, q := range queue {
			if _, bad := q.Deadline.UTC().MarshalJSON(); bad != nil || err != nil {
				t.Errorf("queue: the deadline %v cannot be written: %v, %v", q.Deadline, bad, err)
			}
		}
		readOthers(t, r)
		readCounters(t, r)
	})
}

// readCounters calls the readers of counters and permits.
func readCounters(t *testing.T, r driver.Reply) {
	t.Helper()
	taken, err1 := script.ReadTaken(r)
	_, err2 := script.ReadCancelled(r)
	_, err3 := script.ReadSet(r)
	added, err4 := script.ReadAdded(r)
	left, err5 := script.ReadCountedDown(r)
	_, err6 := script.ReadCounter(r)
	drained, err7 := script.ReadDrained(r)
	if err7 == nil && drained < 0 || err1 == nil && taken < 0 || err4 == nil && added.Told < 0 || err5 == nil && left < 0 {
		t.Errorf("of %v it makes %d, %+v, %d, %d", r, taken, added, left, drained)
	}
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if _, ok := errors.AsType[*driver.ServerError](err); r.Err != nil && !ok {
			t.Errorf("reader %d of counters makes %v of an error", i+1, err)
		}
	}
}

// readOthers calls the readers of which nothing more is promised than an end.
func readOthers(t *testing.T, r driver.Reply) {
	t.Helper()
	released, err1 := script.ReadReleased(r)
	forced, err2 := script.ReadForced(r)
	renewed, err3 := script.ReadRenewed(r, 2)
	count, err4 := script.ReadCount(r)
	_, err5 := script.ReadSession(r)
	_, err6 := script.ReadHeartbeat(r)
	_, err7 := script.ReadWatchdogs(r)
	_, err8 := script.ReadStalled(r)
	if err1 == nil && released.Told < 0 || err2 != nil && forced || err3 == nil && len(renewed) != 2 || err4 == nil && count < 0 {
		t.Errorf("of %v it makes %+v, %v, %+v, %d", r, released, forced, renewed, count)
	}
	if r.Err != nil {
		for i, err := range []error{err1, err2, err3, err4, err5, err6, err7, err8} {
			if _, ok := errors.AsType[*driver.ServerError](err); !ok {
				t.Errorf("reader %d makes %v of an error", i+1, err)
			}
		}
	}
}
