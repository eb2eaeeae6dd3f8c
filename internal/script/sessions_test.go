package script_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
)

// The sets are shared by all tests of a server, so these go by what concerns them alone.
func TestABeatTellsWhenTheNextIsDueAndHearsOfWatchdogs(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		client, watchdog := redistest.Name(t), rand.Text()
		heartbeat := func() script.Heartbeat {
			t.Helper()
			return redistest.Must(script.ReadHeartbeat(s.run(t, script.SessionHeartbeat(client, lease))))
		}
		first := heartbeat()
		if !first.Joined || !s.near(t, first.Now) {
			t.Errorf("the first heartbeat found %+v", first)
		}
		if due := s.score(t, protocol.Sessions, client).Sub(first.Now); due != lease {
			t.Errorf("the next heartbeat is due in %v, want %v", due, lease)
		}
		if second := heartbeat(); second.Joined {
			t.Errorf("the second heartbeat found %+v", second)
		}
		if ttl := s.must(t, "PTTL", protocol.Sessions).Int; ttl <= 0 {
			t.Errorf("the set expires in %d ms", ttl)
		}

		alive, err := script.ReadWatchdogs(s.run(t, script.WatchdogHeartbeat(watchdog, 5*time.Second)))
		if err != nil || !slices.Contains(alive.IDs, watchdog) || alive.Count < 1 || !s.near(t, alive.Now) {
			t.Errorf("the watchdog found %v, %v", alive, err)
		}
		if n := heartbeat().Watchdogs; n < 1 {
			t.Errorf("with a watchdog, %d are counted", n)
		}
		if ttl := s.must(t, "PTTL", protocol.Watchdogs).Int; ttl <= 0 {
			t.Errorf("the watchdogs expire in %d ms", ttl)
		}
		alive, err = script.ReadWatchdogs(s.run(t, script.WatchdogHeartbeat(watchdog, 0)))
		if err != nil || slices.Contains(alive.IDs, watchdog) {
			t.Errorf("after it has left the watchdogs are %v, %v", alive, err)
		}
		for _, score := range []string{"1", "-inf", "+inf", "9e300", fmt.Sprint(s.now(t).Add(time.Minute).UnixMilli())} {
			s.must(t, "ZADD", protocol.Watchdogs, score, watchdog)
			alive, err = script.ReadWatchdogs(s.run(t, script.WatchdogHeartbeat(watchdog+"2", 0)))
			if err != nil || slices.Contains(alive.IDs, watchdog) {
				t.Errorf("one of score %s counts: %v, %v", score, alive, err)
			}
		}
	})
}

func TestTheOverdueAreStalledAndNobodyElse(t *testing.T) {
	t.Parallel()
	onEachServer(t, func(t *testing.T, s *server) {
		name := redistest.Name(t)
		late, later, fine, dead := name+"1", name+"2", name+"3", name+"4"
		now := s.now(t)
		at := func(d time.Duration) string { return fmt.Sprint(now.Add(d).UnixMilli()) }
		s.must(t, "ZADD", protocol.Sessions, at(-time.Second), late, at(-time.Minute), later, at(time.Minute), fine, at(-25*time.Hour), dead)

		stalled := func() (mine []string) {
			t.Helper()
			page, err := script.ReadStalled(s.run(t, script.SessionsStalled(script.Cursor{}, 1000)))
			if err != nil || !s.near(t, page.Now) || page.All < len(page.Clients) {
				t.Fatal(page.Now, page.All, err)
			}
			for _, one := range page.Clients {
				if strings.HasPrefix(one.Client, name) {
					mine = append(mine, strings.TrimPrefix(one.Client, name)+" "+one.Due.Sub(now.Truncate(time.Millisecond)).String())
				}
			}
			return mine
		}
		// Heartbeats of other tests may have pruned the dead one by now.
		if got, want := stalled(), []string{"4 -25h0m0s", "2 -1m0s", "1 -1s"}; !slices.Equal(got, want) && !slices.Equal(got, want[1:]) {
			t.Errorf("stalled are %q, want %q", got, want)
		}
		if few, _ := script.ReadStalled(s.run(t, script.SessionsStalled(script.Cursor{}, 1))); len(few.Clients) != 1 || few.All < 2 {
			t.Errorf("with a limit of 1, %d are named of %d", len(few.Clients), few.All)
		}
		there, err := script.ReadDue(s.run(t, script.SessionsDue([]string{fine, "nobody", late})), []string{fine, "nobody", late})
		if err != nil || len(there) != 2 || there[late].Score != at(-time.Second) || there[fine].Score != at(time.Minute) {
			t.Errorf("due are %v, %v", there, err)
		}
		s.run(t, script.SessionHeartbeat(fine, time.Minute)) // prunes
		if got := stalled(); len(got) != 2 {
			t.Errorf("after a day one is still stalled: %q", got)
		}

		earlier, right := script.Stalled{Client: late, Score: at(-2 * time.Second)}, script.Stalled{Client: late, Score: at(-time.Second)}
		s.must(t, "ZADD", protocol.Sessions, "-inf", dead, "1.5", fine)
		for i, c := range []struct {
			call script.Call
			want int
		}{
			{script.SessionsEndOverdue(earlier), 0},
			{script.SessionsEndOverdue(right), 1},
			{script.SessionsEndOverdue(right), 0},
			{script.SessionsEndOverdue(script.Stalled{Client: dead, Score: "-inf"}), 1},
			{script.SessionsEndOverdue(script.Stalled{Client: fine, Score: "1.5"}), 1},
			{script.SessionEnd(later), 1},
			{script.SessionEnd(later), 0},
		} {
			if n, err := script.ReadCount(s.run(t, c.call)); n != c.want || err != nil {
				t.Errorf("end %d: %d, %v; want %d", i, n, err, c.want)
			}
		}
		if got := stalled(); len(got) != 0 {
			t.Errorf("after their end they are stalled: %q", got)
		}
	})
}

func (s *server) now(t testing.TB) time.Time {
	t.Helper()
	words := s.must(t, "TIME").Array
	var sec, micro int64
	fmt.Sscan(words[0].Str, &sec)
	fmt.Sscan(words[1].Str, &micro)
	return time.Unix(sec, micro*1000)
}

// near says whether a moment is just about now.
func (s *server) near(t *testing.T, at time.Time) bool {
	t.Helper()
	return s.now(t).Sub(at).Abs() < slack
}

func (s *server) score(t *testing.T, key, member string) time.Time {
	t.Helper()
	var ms int64
	fmt.Sscan(s.must(t, "ZSCORE", key, member).Str, &ms)
	return time.UnixMilli(ms)
}

// Watchdogs that are dead, or whose time never ends, protect nobody.
func TestAHeartbeatCountsNoWatchdogThatIsDead(t *testing.T) {
	t.Parallel()
	s := connect(t, redistest.Start(t).Addr())
	past := fmt.Sprint(s.now(t).Add(-time.Millisecond).UnixMilli())
	s.must(t, "ZADD", protocol.Watchdogs, past, "dead", "-inf", "never", "+inf", "endless")
	s.run(t, script.WatchdogHeartbeat("alive", 5*time.Second))
	s.must(t, "ZADD", protocol.Watchdogs, past, "dead", "-inf", "never", "+inf", "endless")
	found, err := script.ReadHeartbeat(s.run(t, script.SessionHeartbeat("client", lease)))
	if err != nil || found.Watchdogs != 1 {
		t.Errorf("with one that is alive, %d are counted, %v", found.Watchdogs, err)
	}
}
