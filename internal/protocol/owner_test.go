package protocol_test

import (
	"math"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

const client = "4e1b6b8e-6f3e-4b5a-9d4f-0a6a6b3b0f10"

func TestOwnersAreWrittenAsJavaWritesThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		number int64
		want   string
	}{
		{1, client + ":1"},
		{0, client + ":0"},
		{-1, client + ":-1"},
		{math.MaxInt64, client + ":9223372036854775807"},
		{math.MinInt64, client + ":-9223372036854775808"},
	} {
		if got := protocol.Owner(client, c.number); got != c.want {
			t.Errorf("owner %d is %q, want %q", c.number, got, c.want)
		}
		id, number, ok := protocol.ParseOwner(c.want)
		if !ok || id != client || number != c.number {
			t.Errorf("%q was read as %q, %d, %v", c.want, id, number, ok)
		}
	}
}

func TestAClientMayHaveColonsInItsName(t *testing.T) {
	t.Parallel()
	id, number, ok := protocol.ParseOwner("a:b:3")
	if !ok || id != "a:b" || number != 3 {
		t.Errorf(`"a:b:3" was read as %q, %d, %v`, id, number, ok)
	}
}

func TestWhatIsNoOwnerIsNotReadAsOne(t *testing.T) {
	t.Parallel()
	for what, text := range map[string]string{
		"nothing":          "",
		"a colon":          ":",
		"no client":        ":1",
		"no number":        client + ":",
		"no colon":         client,
		"the mode":         "mode",
		"a writer":         client + ":1:write",
		"a hex number":     client + ":0x1f",
		"a fraction":       client + ":1.0",
		"an exponent":      client + ":1e3",
		"a blank":          client + ": 1",
		"a blank behind":   client + ":1 ",
		"an underscore":    client + ":1_000",
		"too large":        client + ":9223372036854775808",
		"digits of others": client + ":١",
	} {
		if id, number, ok := protocol.ParseOwner(text); ok {
			t.Errorf("%s: %q was read as %q, %d", what, text, id, number)
		}
	}
}

// Both sides write decimal numbers in one way only. A text that is written
// otherwise comes from neither, and two texts must not read as one owner.
func TestANumberThatNoClientWritesSoIsNotAnOwner(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"+1", "01", "-0", "-01", "00"} {
		if _, n, ok := protocol.ParseOwner(client + ":" + number); ok {
			t.Errorf("%q was read as the number %d, which is written %q", number, n, protocol.Owner(client, n))
		}
	}
}

func TestOwnerIsWrittenWithOneAllocation(t *testing.T) {
	var number int64 = math.MaxInt64
	if n := testing.AllocsPerRun(100, func() { sink = protocol.Owner(client, number) }); n > 1 {
		t.Errorf("%v allocations for one owner", n)
	}
}

var sink string

func FuzzOwner(f *testing.F) {
	f.Add(client, int64(1), client+":1")
	f.Add("", int64(math.MinInt64), ":1")
	f.Add("a:b", int64(0), "a:b:write")
	f.Fuzz(func(t *testing.T, id string, number int64, text string) {
		gotID, gotNumber, ok := protocol.ParseOwner(protocol.Owner(id, number))
		if ok != (id != "") || ok && (gotID != id || gotNumber != number) {
			t.Fatalf("%q, %d came back as %q, %d, %v", id, number, gotID, gotNumber, ok)
		}
		gotID, gotNumber, ok = protocol.ParseOwner(text)
		if ok && protocol.Owner(gotID, gotNumber) != text {
			t.Fatalf("%q was read as %q, %d", text, gotID, gotNumber)
		}
	})
}
