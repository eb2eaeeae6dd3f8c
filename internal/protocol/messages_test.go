package protocol_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

var everyWay = []protocol.Messages{
	protocol.Plain, protocol.Doubled, protocol.Sharded, protocol.Sharded | protocol.Copied,
	protocol.Sharded | protocol.Copied | protocol.Doubled,
}

// heard is what a Java peer hears that listens by SSUBSCRIBE or by SUBSCRIBE, as the
// numbers that it decodes.
func heard(t *testing.T, plan, verb string) (numbers []int64) {
	t.Helper()
	words := strings.Fields(plan)
	for i := 0; i < len(words); i += 2 {
		number, err := strconv.ParseInt(words[i+1], 10, 64)
		if err != nil {
			t.Errorf("plan %q: a Java peer fails to decode %q", plan, words[i+1])
		}
		if words[i] == verb {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// Goal: whoever is out there hears of a release once, by the number that it knows.
func TestEveryPeerHearsOfEveryRelease(t *testing.T) {
	t.Parallel()
	for _, via := range everyWay {
		sharded, copied, doubled := via&protocol.Sharded != 0, via&protocol.Copied != 0, via&protocol.Doubled != 0
		for _, c := range []struct {
			plan   string
			number int64
		}{{via.Unlocked(), 0}, {via.ReadUnlocked(), 1}} {
			if got := heard(t, c.plan, "SPUBLISH"); sharded != (len(got) == 1 && got[0] == c.number) {
				t.Errorf("way %d: by SSUBSCRIBE one hears %v of %q", via, got, c.plan)
			}
			got := heard(t, c.plan, "PUBLISH")
			if wanted := !sharded || copied; wanted != (len(got) > 0 && got[0] == c.number) {
				t.Errorf("way %d: by SUBSCRIBE one hears %v of %q", via, got, c.plan)
			}
			if second := doubled && c.number == 1; second != (len(got) == 2 && got[1] == 0) {
				t.Errorf("way %d: a peer before 3.10.3 hears %v of %q", via, got, c.plan)
			}
		}
	}
}

// Goal: whoever listens in both ways takes each release for one. Method: what is left
// of every plan without the copies.
func TestCopiesAreKnownAsSuch(t *testing.T) {
	t.Parallel()
	for _, via := range everyWay {
		for _, plan := range []string{via.Unlocked(), via.ReadUnlocked()} {
			words := strings.Fields(plan)
			for i := 1; i < len(words); i += 2 {
				if protocol.IsCopy(words[i]) != (i > 1) {
					t.Errorf("way %d: message %d of %q: IsCopy is %v", via, i/2+1, plan, protocol.IsCopy(words[i]))
				}
			}
		}
	}
	for _, java := range []string{"0", "1", "10", ""} {
		if protocol.IsCopy(java) {
			t.Errorf("%q, which Java peers publish, is taken for a copy", java)
		}
	}
}
