package weather_test

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/watchdog"
)

// Goal: a process is protected also where Redis is a cluster, whose servers each have a part
// of what it holds and of what is noted about it.
func TestLongAProtectedProcessKeepsItsHoldsInACluster(t *testing.T) {
	t.Parallel()
	url := fixture.ClusterURL(redistest.StartCluster(t, 3, 0))
	keepsItsHolds(t, url, pausedLease, 2*pausedLease, func(driver.Driver, string) {})
}

// Goal: pulse and session follow the primary: after a failover, a process is as protected as
// it was before.
func TestLongAProtectedProcessKeepsItsHoldsAfterAFailover(t *testing.T) {
	sentinels := redistest.StartSentinels(t)
	url := "redis+sentinel://" + strings.Join(sentinels.Addrs(), ",") + "/" + sentinels.Name
	// The lease has to outlive the failover.
	keepsItsHolds(t, url, 10*time.Second, 12*time.Second, func(d driver.Driver, client string) {
		former := sentinels.Primary(t)
		former.Kill()
		sentinels.AwaitFailover(t, former)
		sentinels.Settle(t)
		ask := func(words ...string) driver.Reply { return d.Do(t.Context(), driver.Command{Words: words}) }
		redistest.Eventually(t, 8*time.Second, func() bool {
			pulse := ask("HGET", protocol.SessionKey(client), protocol.SessionPulse).Str
			heard := ask("PUBSUB", "NUMSUB", protocol.PulseChannel(client, pulse))
			return len(heard.Array) == 2 && heard.Array[1].Int == 1 && ask("HLEN", protocol.SessionKey(client)).Int > 1
		}, "the new primary has the pulse and the session")
		// The client hears of the watchdog, which has followed as well, by its next heartbeat.
		heartbeat := func() string { return ask("ZSCORE", protocol.Sessions, client).Str }
		for range 2 {
			last := heartbeat()
			redistest.Eventually(t, 8*time.Second, func() bool { return heartbeat() > last }, "the heartbeat arrives there")
		}
	})
}

// keepsItsHolds stops a protected process for longer than its lease, after what is to
// happen before, and checks what it finds when it goes on.
func keepsItsHolds(t *testing.T, url string, lease, pause time.Duration, before func(d driver.Driver, client string)) {
	t.Helper()
	c := fixture.Open(t, url, redlatch.Config{CommandTimeout: 10 * time.Second})
	runWatchdogOn(t, c.Driver(), watchdog.Config{})
	name := redistest.Name(t)
	p := startProcess(t, pausedEnv, url, name, lease)
	client := strings.TrimPrefix(p.line(t), "held ")
	before(c.Driver(), client)
	p.signal(t, redistest.SIGSTOP)
	over := time.NewTimer(pause)
	<-over.C
	for what, l := range map[string]redlatch.Lock{
		"mutex": c.Mutex(name + "m"), "fair": c.FairMutex(name + "f"), "write": c.RWMutex(name + "w"), "read": c.RWMutex(name + "r"),
	} {
		_, err := l.TryLock(t.Context())
		check.Is(t, "a rival for the "+what+" lock", err, redlatch.ErrNotAcquired)
	}
	p.signal(t, redistest.SIGCONT)
	_, then, unlocked := p.line(t), p.line(t), p.line(t)
	_, _ = io.Copy(io.Discard, p.out)
	if want := "then valid valid valid valid valid lost"; !strings.HasPrefix(then, want) {
		t.Errorf("after the answers the holds are %q, want %q", then, want)
	}
	if want := "unlocked true false, true false, true false, true false, true false, false true"; !strings.HasPrefix(unlocked, want) {
		t.Errorf("the holds are released as %q, want %q", unlocked, want)
	}
	key := protocol.SessionKey(client)
	if reply := c.Driver().Do(t.Context(), driver.Command{Words: []string{"EXISTS", key}, Key: key}); reply.Err != nil || reply.Int != 0 {
		t.Errorf("its session is left: %+v", reply)
	}
}
