package watchdog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

// lease is that of the locks here: short, and long enough for a slow machine.
const lease = 2500 * time.Millisecond

// Goal: a paused client's holds of every kind are renewed exactly as it would have renewed
// them. Method: take them, stand still for two leases, and look at their keys all the time.
func TestLongAPausedClientKeepsHoldsOfEveryKind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	mutex, again, read, write := "a mutex", "re-entrant", "read", "write"
	entries := []script.SessionEntry{
		{Field: c.owner(1), Lock: mutex, Count: 1, Lease: lease},
		{Field: c.owner(2), Lock: again, Count: 2, Lease: lease},
		{Field: c.owner(3), Lock: read, Read: true, Count: 2, Lease: lease},
		{Field: protocol.WriterField(c.owner(4)), Lock: write, Count: 1, Lease: lease},
	}
	c.note(entries...)
	c.send(
		script.Mutex{Lock: mutex}.Acquire(c.owner(1), script.Counts{Writes: 1}, lease, false),
		script.Mutex{Lock: again}.Acquire(c.owner(2), script.Counts{Writes: 1}, lease, false), script.Mutex{Lock: again}.Acquire(c.owner(2), script.Counts{Writes: 2}, lease, false),
		script.NewRW(read, protocol.Plain).Acquire(c.owner(3), script.Counts{Reads: 1}, lease, false), script.NewRW(read, protocol.Plain).Acquire(c.owner(3), script.Counts{Reads: 2}, lease, false),
		script.NewRW(write, protocol.Plain).Acquire(c.owner(4), script.Counts{Writes: 1}, lease, false),
	)
	c.heartbeat()
	run(t, d, watchdog.Config{})
	keys := []string{mutex, again, read, protocol.ReadTimeoutKey(read, c.owner(3), 1), protocol.ReadTimeoutKey(read, c.owner(3), 2), write}
	lasts(t, 2*lease, func() bool {
		for _, key := range keys {
			if server.PTTL(t, key) <= 0 {
				t.Errorf("%s is gone", key)
				return false
			}
		}
		return true
	}, "every key lives")
	if count := server.CLI(t, "HGET", again, c.owner(2)); count != "2" {
		t.Errorf("the count is %v, want 2", count)
	}
	if n := len(c.noted()); n != len(entries) {
		t.Errorf("%d entries are left, want %d", n, len(entries))
	}
}

func TestADeadClientsLocksEndWithTheirLeasesAndItsSessionIsRemoved(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", lease)
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Renewals > 0 }, "the paused client is renewed for")
	c.die()
	eventually(t, func() bool {
		return server.CLI(t, "PUBSUB", "NUMSUB", protocol.PulseChannel(c.id, pulse)).([]any)[1] == int64(0)
	}, "the pulse is gone")
	// A renewal may be under way now; after it there is none.
	renewals := w.Stats().Renewals + 1
	eventually(t, func() bool { return server.PTTL(t, "job") < 0 }, "the lock is free")
	if n := w.Stats().Renewals; n > renewals {
		t.Errorf("%d renewals after the death", n-renewals+1)
	}
	eventually(t, func() bool { return len(left(t, server)) == 0 }, "nothing is left")
	eventually(t, func() bool { return w.Stats().Dead > 0 }, "the session is counted")
	if s := w.Stats(); s.Dead != 1 || s.LetGo != 0 {
		t.Errorf("counted were %+v", s)
	}
}

// The session of a client that is dead when it is first seen goes at once, before its time.
func TestASessionOfTheDeadDoesNotWaitForItsExpiry(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", time.Minute)
	c.die()
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Dead == 1 }, "it is removed")
	if keys := left(t, server); len(keys) > 0 {
		t.Errorf("left behind are %v", keys)
	}
	if w.Stats().Renewals != 0 || server.PTTL(t, "job") <= 0 {
		t.Error("its lock was touched")
	}
}

func TestLongAClientThatIsPausedForTooLongIsLetGo(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", lease)
	c.heartbeat()
	const limit = 3 * time.Second
	paused := time.Now()
	w := run(t, d, watchdog.Config{MaxPause: limit})
	eventually(t, func() bool { return server.PTTL(t, "job") < 0 }, "the lock is free")
	if free := time.Since(paused); free < limit || free > limit+lease+2*time.Second {
		t.Errorf("the lock was free %v after the pause had begun", free)
	}
	eventually(t, func() bool { return len(left(t, server)) == 0 }, "nothing is left")
	if s := w.Stats(); s.LetGo != 1 || s.Dead != 0 {
		t.Errorf("counted were %+v", s)
	}
}

// Goal: what is no longer the client's is not touched, and what is left in the session of it
// is removed, while its other holds live on.
func TestALockOfSomebodyElseIsNeverTouched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	kept := c.hold("kept", lease)
	c.note(
		script.SessionEntry{Field: c.owner(2), Lock: "another's", Count: 1, Lease: time.Hour},
		script.SessionEntry{Field: c.owner(3), Lock: "free", Count: 1, Lease: time.Hour},
		script.SessionEntry{Field: c.owner(4), Lock: "of another type", Count: 1, Lease: time.Hour},
		script.SessionEntry{Field: c.owner(5), Lock: "read by others", Read: true, Count: 3, Lease: time.Hour},
	)
	c.send(script.Mutex{Lock: "another's"}.Acquire("somebody:1", script.Counts{Writes: 1}, time.Minute, false), script.NewRW("read by others", protocol.Plain).Acquire("somebody:2", script.Counts{Reads: 1}, time.Minute, false))
	server.CLI(t, "SET", "of another type", "text")
	server.CLI(t, "HSET", protocol.SessionKey(c.id), "nonsense", "of no version")
	c.heartbeat()
	run(t, d, watchdog.Config{})
	eventually(t, func() bool { return len(c.noted()) == 1 }, "the useless entries are removed")
	lasts(t, lease, func() bool { return server.PTTL(t, "kept") > 0 }, "the hold lives")
	if e := c.noted(); len(e) != 1 || e[0] != kept {
		t.Errorf("left in the session are %v", e)
	}
	if n := server.CLI(t, "HLEN", protocol.SessionKey(c.id)); n != int64(3) { // the entry, the pulse, and what it is not for a watchdog to know
		t.Errorf("the session has %v fields", n)
	}
	for _, key := range []string{"another's", "read by others"} {
		if ttl := server.PTTL(t, key); ttl > time.Minute {
			t.Errorf("%s lives for another %v", key, ttl)
		}
	}
	if ttl := server.PTTL(t, "of another type"); ttl != -time.Millisecond {
		t.Errorf("the key of another type got a TTL of %v", ttl)
	}
	if n := server.CLI(t, "EXISTS", "free"); n != int64(0) {
		t.Error("a free lock was made")
	}
}

func TestLongNobodyRenewsBeyondTheEndOfAHold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("endless", lease)
	until := time.Now().Add(4 * time.Second) // the server's clock is this machine's
	c.note(script.SessionEntry{Field: c.owner(1), Lock: "ends", Count: 1, Lease: lease, Until: until})
	c.send(script.Mutex{Lock: "ends"}.Acquire(c.owner(1), script.Counts{Writes: 1}, lease, false))
	c.heartbeat()
	run(t, d, watchdog.Config{})
	eventually(t, func() bool { return server.PTTL(t, "ends") < 0 }, "the hold ends")
	if over := time.Since(until); over < -50*time.Millisecond || over > lease*7/10 {
		t.Errorf("it ended %v after its end", over)
	}
	if server.PTTL(t, "endless") <= 0 {
		t.Error("the other hold ended, too")
	}
	eventually(t, func() bool { return len(c.noted()) == 1 }, "its entry is removed")
}

// Goal: a client that runs is left alone, to the last command.
func TestAClientThatRunsIsNotTouched(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c := newClient(t, d)
	c.hold("job", time.Minute)
	c.send(script.SessionHeartbeat(c.id, time.Minute))
	w := run(t, d, watchdog.Config{Look: 20 * time.Millisecond})
	ttl := server.PTTL(t, "job")
	eventually(t, func() bool { return w.Stats().Looks > 20 }, "it looks")
	if s := w.Stats(); s.Stalled != 0 || s.Renewals != 0 || s.Failures != 0 {
		t.Errorf("counted were %+v", s)
	}
	if now := server.PTTL(t, "job"); now > ttl {
		t.Errorf("the TTL went from %v to %v", ttl, now)
	}
	c.die() // that alone does not make it dead: its heartbeat is not overdue
	looks := w.Stats().Looks
	eventually(t, func() bool { return w.Stats().Looks > looks+5 }, "it looks again")
	if len(c.noted()) != 1 {
		t.Error("the session of a client without a pulse was removed before its heartbeat was overdue")
	}
}

func TestAClientThatComesBackIsLeftAlone(t *testing.T) {
	t.Parallel()
	d := connect(t, redistest.Start(t).Addr())
	c := newClient(t, d)
	c.hold("job", lease)
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Serving == 1 && w.Stats().Renewals > 0 }, "it is served")
	c.send(script.SessionHeartbeat(c.id, time.Minute))
	eventually(t, func() bool { return w.Stats().Stalled == 0 }, "it is seen to be back")
	if s := w.Stats(); s.Serving != 0 || s.Dead+s.LetGo != 0 {
		t.Errorf("counted were %+v", s)
	}
}

// Goal: a connection that the client has given up, but that Redis takes for open, keeps
// nothing alive. Method: it stays on the channel of a former pulse while the client dies.
func TestAFormerConnectionDoesNotKeepTheDead(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	c, halfOpen := newClient(t, d), newClient(t, d)
	halfOpen.subscribe("redlatch:pulse:{"+c.id+"}", protocol.PulseChannel(c.id, "former"))
	c.hold("job", lease)
	c.die()
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Dead == 1 }, "its death is seen")
	if n := w.Stats().Renewals; n > 0 {
		t.Errorf("%d renewals for the dead", n)
	}
}

// A key in the place of a session that is none must neither stop the watchdog nor stay
// listed for ever.
func TestLongASessionOfTheWrongTypeHoldsNothingUp(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	odd, c := newClient(t, d), newClient(t, d)
	server.CLI(t, "DEL", protocol.SessionKey(odd.id))
	server.CLI(t, "SET", protocol.SessionKey(odd.id), "text")
	odd.heartbeat()
	c.hold("job", lease)
	c.heartbeat()
	w := run(t, d, watchdog.Config{})
	lasts(t, 2*lease, func() bool { return server.PTTL(t, "job") > 0 }, "the hold lives")
	if s := w.Stats(); s.Watchdogs != 1 {
		t.Errorf("it does not count itself alive: %+v", s)
	}
	eventually(t, func() bool { return w.Stats().Dead == 1 }, "the odd one is not waited for")
	if text := server.CLI(t, "GET", protocol.SessionKey(odd.id)); text != "text" {
		t.Error("somebody's key was removed")
	}
}

func TestAWatchdogRunsOnce(t *testing.T) {
	t.Parallel()
	w := run(t, connect(t, redistest.Shared(t).Addr()), watchdog.Config{})
	eventually(t, func() bool { return w.Stats().Looks > 0 }, "it runs")
	if err := w.Run(t.Context()); !errors.Is(err, watchdog.ErrRunning) {
		t.Errorf("the second run says %v", err)
	}
	w.end()
	if err := w.Run(t.Context()); !errors.Is(err, watchdog.ErrRunning) {
		t.Errorf("the run after the end says %v", err)
	}
}

func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]watchdog.Config{
		"MaxPause":       {MaxPause: time.Millisecond},
		"Look":           {Look: time.Minute},
		"CommandTimeout": {CommandTimeout: -1},
		"driver":         {},
	} {
		_, err := watchdog.New(nil, cfg)
		if config, ok := errors.AsType[*redlatch.ConfigError](err); !ok || config.Field != field {
			t.Errorf("a wrong %s is reported as %v", field, err)
		}
	}
}
