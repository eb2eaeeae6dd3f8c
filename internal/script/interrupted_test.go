package script_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a script that was ended half-way is put right by running it again: in a cluster this
// happens where a slot is on the move, as soon as it asks for a key that is elsewhere. Method:
// the script with a "redis" of its own that fails after so many commands, then the call as it is.

const interrupting = `
local real, commands = redis, tonumber(table.remove(ARGV))
local function counting(run)
  return function(...)
    commands = commands - 1
    if commands < 0 then
      error('interrupted')
    end
    return run(...)
  end
end
local redis = {call = counting(real.call), pcall = counting(real.pcall), error_reply = real.error_reply}
`

// interrupt runs a call that ends after so many commands. It says whether it did.
func (s *server) interrupt(t *testing.T, call script.Call, commands int) bool {
	t.Helper()
	f := &fake{}
	script.NewRunner(f, second).Run(t.Context(), call)
	words := append([]string{"EVAL", interrupting + call.Source()}, f.requests[0].commands[0].Words[2:]...)
	reply := s.Do(t.Context(), driver.Command{Words: append(words, fmt.Sprint(commands)), Key: "job"})
	if reply.Err != nil && !strings.Contains(reply.Err.Error(), "interrupted") {
		t.Fatal(reply.Err)
	}
	return reply.Err != nil
}

func TestAScriptThatWasInterruptedIsPutRightByItsRepetition(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, c := range []struct {
			what, given string
			call        rwCall
		}{
			{"end writing", "write A:write=1 old", rwRelease("A", 0, 0, 0)},
			{"end writing and reading", "write A:write=1 A=2 old / A1old A2old", rwRelease("A", 2, 0, 0)},
			{"end one of two writes", "write A:write=2 A=1 old / A1old", rwRelease("A", 1, 1, 1)},
			{"end writing but read", "write A:write=1 A=2 old / A1old A2old", rwRelease("A", 2, 0, 2)},
			{"end writing but read, with the keys gone", "write A:write=1 A=2 old", rwRelease("A", 2, 0, 2)},
			{"end writing among the living and the dead", "write A:write=1 B=1 " + other + "3=1 old / B1old", rwRelease("A", 0, 0, 0)},
			{"end reading inside writing", "write A:write=1 A=1 old / A1old", rwRelease("A", 1, 1, 0)},
			{"end reading", "read A=2 old / A1old A2old", rwRelease("A", 2, 0, 0)},
			{"end reading beside a reader", "read A=1 B=1 old / A1old B1old", rwRelease("A", 1, 0, 0)},
			{"end reading beside the dead", "read A=1 B=1 old / A1old", rwRelease("A", 1, 0, 0)},
			{"end one of two reads", "read A=2 old / A1old A2old", rwRelease("A", 2, 0, 1)},
			{"write beside the dead", "read B=1 " + other + "3=1 old", rwAcquire("A", 1, 0)},
			{"read once more", "read A=1 old / A1old", rwAcquire("A", 0, 2)},
			{"read when the end of writing was lost", "write A:write=1 A=1 old / A1old", rwAcquire("A", 0, 2)},
			{"renew when the end of writing was lost", "write A:write=1 A=2 old / A1old", rwRenew("A", 0, 2)},
			{"force readers", "read A=2 B=1 old / A1old A2old B1old", rwForce("")},
			{"force a writer", "write A:write=1 A=1 old / A1old", rwForce("")},
			{"force one reader of two", "read A=2 B=1 old / A1old A2old B1old", rwForce("A")},
			{"force one reader beside the dead", "read A=1 B=1 old / A1old", rwForce("A")},
			{"force only a write", "write A:write=1 A=1 old / A1old", rwForce("A:write")},
		} {
			t.Run(c.what, func(t *testing.T) {
				key := redistest.Name(t)
				s.putRW(t, key, c.given)
				s.run(t, c.call(key))
				want := s.rw(t, key)
				for commands := 0; ; commands++ {
					s.putRW(t, key, c.given)
					if !s.interrupt(t, c.call(key), commands) {
						break
					}
					half := s.rw(t, key)
					s.run(t, c.call(key))
					if got := s.rw(t, key); got != want {
						t.Errorf("interrupted after %d commands, which left %q: it left %q, want %q", commands, half, got, want)
					}
				}
				// Whatever it left, nobody is kept out.
				s.run(t, script.NewRW(key, protocol.Plain).Force(""))
				if got := rwReply(rwAcquire("B", 1, 0)(key), s.run(t, rwAcquire("B", 1, 0)(key))); got != "1" {
					t.Errorf("afterwards a writer gets %s: %s", got, s.rw(t, key))
				}
			})
		}
	})
}
