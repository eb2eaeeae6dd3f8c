package script_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// The release in two commands, which has the replies of the release script.

func TestFreeLeavesTheStateThatTheReleaseScriptLeaves(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		for _, c := range []struct {
			what        string
			given       state
			reply, read string
			then        state
			told        int // messages, also if it frees nothing
		}{
			{"the last hold", held(me, 1, old), "n >= 0", "freed, told 1", state{ttl: missing}, 1},
			{"the last hold, whatever the count", held(me, 7, old), "n >= 0", "freed, told 1", state{ttl: missing}, 1},
			{"what is free", state{}, "-1", "not held", state{ttl: missing}, 1},
			{"what another holds", held(other, 1, old), "-1", "not held", held(other, 1, old), 1},
			{"a string", state{"=x", none}, "error WRONGTYPE", "error", state{"=x", none}, 1},
		} {
			t.Run(c.what, func(t *testing.T) {
				key := redistest.Name(t)
				s.put(t, key, c.given)
				sub := s.listen(t, protocol.LockChannel(key))
				free, announce, ok := script.Mutex{Lock: key, Channel: protocol.LockChannel(key), Via: protocol.Plain}.Free(me)
				if !ok {
					t.Fatal("it is not two commands")
				}
				got := script.Freed(script.NewRunner(s, patience).RunTwo(context.Background(), free, announce)).Reply
				asScript := release(me, 0)(key)
				if label(asScript, got) != c.reply || read(asScript, got) != c.read {
					t.Errorf("the reply is %s, read as %q; want %s and %q", label(asScript, got), read(asScript, got), c.reply, c.read)
				}
				if left := s.state(t, key); !left.is(c.then) {
					t.Errorf("it left %v, want %v", left, c.then)
				}
				wantAnnounced(t, sub, c.told)
			})
		}
	})
}

// A peer that is told in another way gets its message from the script.
func TestFreeIsForOneMessageOnly(t *testing.T) {
	t.Parallel()
	for _, via := range []protocol.Messages{protocol.Sharded, protocol.Sharded | protocol.Copied} {
		if _, _, ok := (script.Mutex{Lock: "job", Channel: "channel", Via: via}).Free(me); ok {
			t.Errorf("with %v it is two commands", via)
		}
	}
}

// Goal: what became of the message does not change what became of the lock.
func TestFreedIsWhatBecameOfTheLock(t *testing.T) {
	t.Parallel()
	asked := time.Now()
	deleted := script.Result{Reply: driver.Reply{Int: 1}, Asked: asked, Repeated: true}
	refused := script.Result{Reply: driver.Reply{Err: &driver.ServerError{Message: "NOPERM"}}, Asked: asked}
	cut := errors.New("cut")
	for what, c := range map[string]struct {
		announce script.Result
		want     int64
	}{
		"three are told":           {script.Result{Reply: driver.Reply{Int: 3}, Asked: asked}, 3},
		"the server refuses":       {refused, -2},
		"there is no answer to it": {script.Result{Reply: driver.Reply{Err: cut}}, 0},
	} {
		got := script.Freed(deleted, c.announce)
		if got.Reply.Int != c.want || got.Reply.Err != nil || got.Failed() != nil || !got.Repeated {
			t.Errorf("%s: the result is %+v, want %d", what, got, c.want)
		}
	}
	if got := script.Freed(script.Result{Reply: driver.Reply{Err: cut}}, refused); got.Failed() != cut {
		t.Errorf("without an answer about the lock it is %+v", got)
	}
}
