package protocol_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

func TestAFieldOfASessionIsReadBackWhateverTheLockIsCalled(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"job", "a job with spaces", " leading", "ü:1:write", "{tag}x"} {
		for _, field := range []string{"c-1:7", protocol.WriterField("c-1:7")} {
			f, l, ok := protocol.ParseSessionField(protocol.SessionField(field, lock))
			if f != field || l != lock || !ok {
				t.Errorf("%q of %q reads as %q of %q, %v", field, lock, f, l, ok)
			}
		}
	}
	for _, text := range []string{"", "c:1", "c:1 ", " job"} {
		if _, _, ok := protocol.ParseSessionField(text); ok {
			t.Errorf("%q was taken for a field", text)
		}
	}
}

func TestAnEntryOfASessionIsReadBack(t *testing.T) {
	t.Parallel()
	type entry struct {
		read         bool
		count        int
		lease, until int64
	}
	for text, want := range map[string]entry{
		"exclusive 1 30000 0":       {count: 1, lease: 30000},
		"read 3 2000 1700000000000": {read: true, count: 3, lease: 2000, until: 1700000000000},
	} {
		var got entry
		var ok bool
		if got.read, got.count, got.lease, got.until, ok = protocol.ParseSessionEntry(text); got != want || !ok {
			t.Errorf("%q reads as %+v, %v", text, got, ok)
		}
		if got := protocol.SessionEntry(want.read, want.count, want.lease, want.until); got != text {
			t.Errorf("%+v is written as %q", want, got)
		}
	}
	for _, text := range []string{
		"", "exclusive", "write 1 1 0", "read 0 1 0", "read 1 0 0", "read 1 1 -1", "read 1 1 0 0",
		"read 257 1 0", "read x 1 0", "read 1 x 0", "read 1 1 x", "read 1000000 1 0", "read  1 1",
	} {
		if _, _, _, _, ok := protocol.ParseSessionEntry(text); ok {
			t.Errorf("%q was taken for an entry", text)
		}
	}
}

// One script works on both.
func TestSessionsAndWatchdogsShareASlot(t *testing.T) {
	t.Parallel()
	if driver.Slot(protocol.Sessions) != driver.Slot(protocol.Watchdogs) {
		t.Error("they do not")
	}
}

// A session speaks of its own client's owners alone.
func TestAnOwnFieldIsOfExactlyThatClient(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		client, field string
		own           bool
	}{
		{"c", "c:1", true},
		{"c", "c:1:write", true},
		{"c", "c:-1", true},
		{"c", "cc:1", false},
		{"c", "c", false},
		{"c", "c:", false},
		{"c", "c:1:2", false},
		{"c", "c:x", false},
		{"c", "mode", false},
		{"", ":1", false},
		{"c:1", "c:1", false},
		{"c:1", "c:1:write", false}, // the writer of c
		{"c:1", "c:1:2", true},
	} {
		if got := protocol.OwnField(c.client, c.field); got != c.own {
			t.Errorf("%q of client %q is its own: %v", c.field, c.client, got)
		}
	}
}

func FuzzOwnField(f *testing.F) {
	f.Add("c", "c:1:write")
	f.Add("c:1", "c:1:2")
	f.Fuzz(func(t *testing.T, client, field string) {
		if protocol.OwnField(client, field) && (client == "" || !strings.HasPrefix(field, client+":")) {
			t.Errorf("%q counts as a field of client %q", field, client)
		}
	})
}

func FuzzParseSessionField(f *testing.F) {
	f.Add("c:1 job")
	f.Add(" c:1  job ")
	f.Fuzz(func(t *testing.T, text string) {
		field, lock, ok := protocol.ParseSessionField(text)
		if ok && (field == "" || lock == "" || protocol.SessionField(field, lock) != text) {
			t.Errorf("%q reads as %q of %q", text, field, lock)
		}
	})
}

func FuzzParseSessionEntry(f *testing.F) {
	f.Add("exclusive 1 30000 0")
	f.Add("read 3 2000 1700000000000")
	f.Fuzz(func(t *testing.T, text string) {
		read, count, lease, until, ok := protocol.ParseSessionEntry(text)
		if written := protocol.SessionEntry(read, count, lease, until); ok && written != text {
			t.Errorf("%q is read, and then written as %q", text, written)
		}
	})
}
