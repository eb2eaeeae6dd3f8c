package script_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: an inspected counter is described as it is, and nothing is changed. States are written as in
// counterTable.
func TestACounterIsInspected(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, c := range []struct{ given, want string }{
			{"", "nothing 0, 0 used, 0 expired:"},
			{"5", "counter 5, 0 used, 0 expired:"},
			{"-3", "counter -3, 0 used, 0 expired:"},
			{"2ttl | 1=old 2=dead 3=never", "counter 2 with a TTL, 3 used, 1 expired: 2 1 3-never"},
			{" | 1=old", "nothing 0, 1 used, 0 expired: 1"},
			{"5 | x", "counter 5, -1 used, 0 expired:"},
			{"x", "error WRONGTYPE"},
			{"abc", "error NOTLOCK"},
		} {
			key := redistest.Name(t)
			s.putCounter(t, key, c.given)
			before := s.counter(t, key)
			reply := s.run(t, script.InspectCounter(key, 1000, false))
			if got := inspectedText(t, script.InspectCounter(key, 1000, false), reply); got != c.want {
				t.Errorf("%q is %q, want %q", c.given, got, c.want)
			}
			if after := s.counter(t, key); after != before {
				t.Errorf("%q was changed into %q", before, after)
			}
		}
	})
}

func inspectedText(t *testing.T, call script.Call, reply driver.Reply) string {
	if reply.Err != nil {
		return counterReply(call, reply)
	}
	found, err := script.ReadInspectedCounter(reply)
	if err != nil || time.Since(found.Now).Abs() > time.Minute {
		t.Errorf("%+v, %v", found, err)
	}
	text := fmt.Sprintf("%s %d", map[bool]string{true: "counter", false: "nothing"}[found.There], found.Count)
	if found.TTL >= 0 {
		text += " with a TTL"
	}
	text += fmt.Sprintf(", %d used, %d expired:", found.Used, found.Expired)
	for _, p := range found.Permits {
		for who, owner := range permitIDs {
			if permits("").Field(owner, false) == p.ID {
				text += " " + who
			}
		}
		if p.End.IsZero() {
			text += "-never"
		}
	}
	return text
}

// Goal: a large sorted set is neither read whole nor listed whole.
func TestALargeSetOfPermitsIsNotReadWhole(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	s.must(t, "SET", "job", "-5000")
	s.must(t, "ZADD", protocol.PermitsInUse("large"), "1", strings.Repeat("x", 5<<20))
	for n := range 50 {
		words := []string{"ZADD", protocol.PermitsInUse("job")}
		for one := range 100 {
			words = append(words, fmt.Sprint(1000+100*n+one), fmt.Sprintf("permit%10d", 100*n+one))
		}
		s.must(t, words...)
	}
	found, err := script.ReadInspectedCounter(s.run(t, script.InspectCounter("job", 10, false)))
	if err != nil || found.Used != 5000 || found.Expired != 5000 || len(found.Permits) != 10 || found.Permits[0].ID != "permit         0" {
		t.Errorf("%+v, %v", found, err)
	}
	found, err = script.ReadInspectedCounter(s.run(t, script.InspectCounter("large", 10, false)))
	if err != nil || found.Used != 1 || len(found.Permits) != 0 {
		t.Errorf("%d in use, %d were read, %v", found.Used, len(found.Permits), err)
	}
}
