package script_test

import (
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// Who is told that a fair lock is free, and by which call. Waiters that look for themselves would
// hide a message that is missing.

const third = "9a0c7d52-0b5e-4d5c-8f0a-3f1d2c4b5a69:8"

// queueOf is a fair lock whose holder has expired, with its waiters, and the channel of one of
// them.
func queueOf(t *testing.T, s *server, key, listening string, waiters ...string) (script.Fair, *subscriber) {
	t.Helper()
	fair := script.NewFair(key, time.Minute, protocol.Plain)
	s.run(t, fair.Acquire("holder:1", script.Counts{Writes: 1}, lease, false))
	for _, waiter := range waiters {
		s.run(t, fair.Acquire(waiter, script.Counts{Writes: 1}, lease, true))
	}
	t.Cleanup(func() {
		for _, waiter := range waiters {
			s.run(t, fair.Release(waiter, 0, script.Counts{}, lease))
		}
	})
	heard := s.listen(t, protocol.LockChannel(key)+":"+listening)
	s.must(t, "DEL", key)
	return fair, heard
}

func wantTold(t *testing.T, heard *subscriber, want ...string) {
	t.Helper()
	if got := heard.received(t); !slices.Equal(got, want) {
		t.Errorf("the next was told %q, want %q", got, want)
	}
}

func TestWhoLeavesTheFrontOfAFreeLockTellsTheNext(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		fair, heard := queueOf(t, s, redistest.Name(t), third, me, third)
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
		wantTold(t, heard, "0")
	})
}

// The one in front is dead, and the one behind leaves: the next is told by whoever removes them.
func TestWhoLeavesBehindTheDeadTellsTheNext(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair, heard := queueOf(t, s, key, third, "dead:waiter:1", me, third)
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
		wantTold(t, heard)
		s.must(t, "ZADD", protocol.FairDeadlines(key), "1", "dead:waiter:1")
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
		wantTold(t, heard, "0")
	})
}

// A lock whose holder has expired tells nobody by itself. The keep-alive of any client does.
func TestAKeepAliveTellsTheNextOfAFreeLock(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		fair, heard := queueOf(t, s, redistest.Name(t), me, me, third)
		s.run(t, fair.KeepAlive(third[:36], []string{third}, nil))
		wantTold(t, heard, "0")
		s.run(t, fair.Acquire(me, script.Counts{Writes: 1}, lease, true))
		s.run(t, fair.KeepAlive(third[:36], []string{third}, nil)) // it is held: there is nothing to tell
		wantTold(t, heard)
	})
}

// A release and a forced unlock tell the next, and nobody else.
func TestEveryEndOfAHoldTellsTheNext(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		holder := protocol.Owner(other[:36], 77)
		for what, end := range map[string]func(f script.Fair) script.Call{
			"release":         func(f script.Fair) script.Call { return f.Release(holder, 0, script.Counts{}, lease) },
			"force":           func(f script.Fair) script.Call { return f.Force("") },
			"force one owner": func(f script.Fair) script.Call { return f.Force(holder) },
		} {
			key := redistest.Name(t)
			fair, heard := queueOf(t, s, key, me, me, third)
			behind := s.listen(t, protocol.LockChannel(key)+":"+third)
			s.put(t, key, held(holder, 1, lease))
			s.run(t, end(fair))
			if got := heard.received(t); !slices.Equal(got, []string{"0"}) {
				t.Errorf("%s: the next was told %q", what, got)
			}
			wantTold(t, behind)
		}
	})
}

// A free lock is kept for the next in turn. Others are told nothing by which they would come back
// before they are told.
func TestAFreeLockIsKeptForTheNext(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		key := redistest.Name(t)
		fair, _ := queueOf(t, s, key, me, me, third)
		const fourth = "5d2c8f4e-7c8a-4a6b-9b1d-2e3f4a5b6c7d:1"
		for _, owner := range []string{fourth, third} {
			for _, waits := range []bool{false, true} {
				got, err := script.ReadAcquired(s.run(t, fair.Acquire(owner, script.Counts{Writes: 1}, lease, waits)))
				if err != nil || got.Granted || got.Holder != me || got.TTL >= 0 {
					t.Errorf("%s, who waits %v, is answered %+v, %v", owner, waits, got, err)
				}
			}
		}
		got, err := script.ReadAcquired(s.run(t, fair.Acquire(me, script.Counts{Writes: 1}, lease, true)))
		if err != nil || !got.Granted {
			t.Errorf("the next is answered %+v, %v", got, err)
		}
		got, err = script.ReadAcquired(s.run(t, fair.Acquire(third, script.Counts{Writes: 1}, lease, true)))
		if err != nil || got.TTL < lease-slack {
			t.Errorf("who is the next now is answered %+v, %v; want the TTL", got, err)
		}
		got, err = script.ReadAcquired(s.run(t, fair.Acquire(fourth, script.Counts{Writes: 1}, lease, true)))
		if err != nil || got.TTL >= 0 {
			t.Errorf("who is behind the next is answered %+v, %v; want no TTL", got, err)
		}
		s.run(t, fair.Release(fourth, 0, script.Counts{}, lease))
		s.run(t, fair.Release(me, 0, script.Counts{}, lease))
	})
}
