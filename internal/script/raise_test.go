package script_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: a call that asks for less than is left takes nothing from it, not even the part of a millisecond
// that the server in memory does not tell. Method: in fake time, such a call every 0.9 ms.
func TestACallForLessTakesNothingFromATTL(t *testing.T) {
	t.Parallel()
	const key = "job"
	mutex, rw, fair := script.NewMutex(key, protocol.Plain), script.NewRW(key, protocol.Plain), script.NewFair(key, time.Minute, protocol.Plain)
	one, two := script.Counts{Writes: 1}, script.Counts{Writes: 2}
	read, reads := script.Counts{Reads: 1}, script.Counts{Reads: 2}
	renewal := func(m script.Mode, c script.Counts) func() script.Call {
		return func() script.Call { return script.Renew([]script.Renewal{m.Renewal(me, c, false, ms)}) }
	}
	acquire := func(m script.Mode, c script.Counts) func() script.Call {
		return func() script.Call { return m.Acquire(me, c, ms, false) }
	}
	release := func(m script.Mode, c script.Counts) func() script.Call {
		return func() script.Call { return m.Release(me, 2, c, ms) }
	}
	for what, given := range map[string]struct {
		mode  script.Mode
		first script.Counts
		call  func() script.Call
	}{
		"a mutex once more":     {mutex, one, acquire(mutex, two)},
		"a mutex once less":     {mutex, two, release(mutex, one)},
		"a mutex renewed":       {mutex, one, renewal(mutex, one)},
		"a fair lock once more": {fair, one, acquire(fair, two)},
		"a fair lock once less": {fair, two, release(fair, one)},
		"a writer once more":    {rw, one, acquire(rw, two)},
		"a writer once less":    {rw, two, release(rw, one)},
		"a writer renewed":      {rw, one, renewal(rw, one)},
		"a reader once more":    {rw, read, acquire(rw, reads)},
		"a reader once less":    {rw, reads, release(rw, read)},
		"a reader renewed":      {rw, read, renewal(rw, read)},
		"a reader whom replicas confirm": {rw, read, func() script.Call {
			return script.Renew([]script.Renewal{rw.Renewal(me, read, false, ms)}).Writing()
		}},
		"several at once": {mutex, one, func() script.Call {
			return script.AcquireAll([]string{key}, []string{me}, ms)
		}},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, err := memory.Open(t.Context(), memory.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				s := &server{Driver: d}
				const lease, calls, pause = 50 * ms, 40, 900 * time.Microsecond
				s.run(t, given.mode.Acquire(me, script.Counts{Writes: min(given.first.Writes, 1), Reads: min(given.first.Reads, 1)}, lease, false))
				s.run(t, given.mode.Acquire(me, given.first, lease, false))
				for range calls {
					time.Sleep(pause)
					s.run(t, given.call())
				}
				keys := []string{key}
				if given.first.Reads > 0 {
					keys = append(keys, protocol.ReadTimeoutKey(key, me, 1))
				}
				for _, key := range keys {
					if left := d.Miniredis().TTL(key); left != lease-calls*pause {
						t.Errorf("%s lives for %v, want %v", key, left, lease-calls*pause)
					}
				}
			})
		})
	}
}
