package fair_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// fairEnv makes the test binary a process with waiters for a fair lock that wait for ever:
// "URL NAME WAITERS".
const fairEnv = "REDLATCH_TEST_FAIR_WAITER"

func init() {
	if spec := os.Getenv(fairEnv); spec != "" {
		words := strings.Fields(spec)
		c := check.Must(redlatch.Open(context.Background(), words[0], fixture.Quiet(redlatch.Config{CommandTimeout: 30 * time.Second})))
		for range check.Must(strconv.Atoi(words[2])) {
			go func() { check.Must(c.FairMutex(words[1]).Lock(context.Background())) }()
		}
		select {}
	}
}

// killed is a process whose waiters stand in a queue, until it is told to die.
func killed(t *testing.T, url, name string, waiters int) (die func()) {
	t.Helper()
	dead := fixture.Child(t, fmt.Sprintf("%s=%s %s %d", fairEnv, url, name, waiters))
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	die = func() {
		_ = dead.Process.Signal(syscall.SIGKILL)
		_ = dead.Wait()
	}
	t.Cleanup(die)
	d := fixture.Raw(t, url)
	list, _, _ := fairKeys(name)
	redistest.Eventually(t, time.Minute, func() bool { return fixture.Do(t, d, "LLEN", list).Int == int64(waiters) }, "the process waits")
	return die
}

func TestLongTheHeadOfTwentyIsKilled(t *testing.T) {
	t.Parallel()
	url, name := redistest.Shared(t).URL(), redistest.Name(t)
	d, c := fixture.Raw(t, url), fixture.Open(t, url, redlatch.Config{})
	h := check.Must(c.FairMutex(name).Lock(t.Context()))
	die := killed(t, url, name, 1)
	q := &queue{t: t}
	var want []int
	for i := range 19 {
		q.join(i, c.FairMutex(name), d, int64(i+2))
		want = append(want, i)
	}
	die()
	died := time.Now()
	_ = h.Unlock(t.Context())
	q.want(want...)
	check.Within(t, "time from the head's death until all others were served", time.Since(died), 0, 10*time.Second+fixture.Slack) // a busy machine may add an outage
	wantNothingOf(t, d, name)
}

// TestLongThreeThousandDeadWaitersDoNotHoldTheServerUp kills a process with 3,000 waiters. What one script does is counted in the
// words of its commands, each dead waiter among them: a busy machine does not change that, as it does the time.
func TestLongThreeThousandDeadWaitersDoNotHoldTheServerUp(t *testing.T) {
	server, name := redistest.Start(t), "job"
	d, c := fixture.Raw(t, server.URL()), fixture.Open(t, server.URL(), redlatch.Config{})
	h := check.Must(c.FairMutex(name).Lock(t.Context()))
	die := killed(t, server.URL(), name, 3000)
	q := &queue{t: t}
	q.join(1, c.FairMutex(name), d, 3001)
	die()
	died, largest := time.Now(), largestScript(t, server)
	_ = h.Unlock(t.Context())
	q.want(1)
	check.Within(t, "time from the death until the living was served", time.Since(died), 0, 10*time.Second+fixture.Slack) // as above
	if n := largest(); n < 3000 || n > 3500 {
		t.Errorf("a script had commands of %d words", n)
	}
	wantNothingOf(t, d, name)
}

// largestScript says how many words the commands of the largest script have had since.
func largestScript(t *testing.T, server *redistest.Server) (read func() int) {
	t.Helper()
	conn := check.Must(net.Dial("tcp", server.Addr()))
	t.Cleanup(func() { conn.Close() })
	check.Must(conn.Write([]byte("MONITOR\r\n")))
	lines := bufio.NewReader(conn)
	check.Must(lines.ReadString('\n'))
	return func() (most int) {
		server.CLI(t, "ECHO", "over")
		for words := 0; ; {
			line := check.Must(lines.ReadString('\n'))
			switch {
			case strings.Contains(line, `"over"`):
				return most
			case strings.Contains(line, " lua] "):
				words += 1 + strings.Count(line, `" "`)
				most = max(most, words)
			default: // of a client
				words = 0
			}
		}
	}
}

// TestFiftyDeadWaitersAmongLivingOnes has two processes in turn in one queue, one of which
// dies: the order of the other stands, and the dead cost their silence once, not each.
func TestFiftyDeadWaitersAmongLivingOnes(t *testing.T) {
	t.Parallel()
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Other(redlatch.Config{}).FairMutex("job").Lock(t.Context()))
		d := &stage.Tap{Driver: s.Memory}
		doomed := mortal{s.On(d, redlatch.Config{}), d}
		ended, cancel := context.WithCancel(t.Context())
		var q turns
		for i := range 50 {
			go func() { _, _ = doomed.FairMutex("job").Lock(ended) }()
			synctest.Wait()
			q.wait(s, i, s.Client.FairMutex("job"))
			synctest.Wait()
		}
		doomed.die()
		died := time.Now()
		_ = h.Unlock(t.Context())
		q.inOrder(t, 50)
		check.Within(t, "time until the living were served", time.Since(died), 0, 5*time.Second)
		cancel()
		d.Spoil(nil)
	})
}

// TestTheOrderStandsAfterAnOutage cuts every client off for some seconds. The first whose
// keep-alive arrives afterwards must not take the others for dead.
func TestTheOrderStandsAfterAnOutage(t *testing.T) {
	t.Parallel()
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				roll := stage.Dice(seed)
				clients := []*redlatch.Client{s.Client, s.Other(redlatch.Config{}), s.Other(redlatch.Config{}), s.Other(redlatch.Config{})}
				h := check.Must(clients[3].FairMutex("job").Lock(t.Context()))
				var q turns
				for i := range 12 {
					q.wait(s, i, clients[i%3].FairMutex("job"))
					synctest.Wait()
					time.Sleep(time.Duration(roll(300)) * time.Millisecond)
				}
				time.Sleep(3 * time.Second)
				s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
				time.Sleep(4*time.Second + time.Duration(roll(1500))*time.Millisecond)
				s.Driver.Spoil(nil)
				time.Sleep(time.Duration(roll(3)) * time.Second)
				_ = h.Unlock(t.Context())
				q.inOrder(t, 12)
			})
		})
	}
}

// TestLongTheOrderStandsAfterTheServerWasStopped is the same with a real server, which nobody
// can reach for five seconds.
func TestLongTheOrderStandsAfterTheServerWasStopped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := &stage.Tap{Driver: fixture.Raw(t, server.URL())}
	clients := []*redlatch.Client{fixture.OpenOn(t, d), fixture.OpenOn(t, d)}
	h := check.Must(fixture.Open(t, server.URL(), redlatch.Config{}).FairMutex("job").Lock(t.Context()))
	q := &queue{t: t}
	var want []int
	for i := range 10 {
		q.join(i, clients[i%2].FairMutex("job"), d, int64(i+1))
		want = append(want, i)
	}
	// A waiter whose request is under way would learn that its outcome is unknown.
	redistest.Eventually(t, 20*time.Second, func() bool {
		before := d.Scripts.Load()
		time.Sleep(300 * time.Millisecond)
		return d.Scripts.Load() == before
	}, "no waiter is asking")
	server.Freeze()
	time.Sleep(5 * time.Second) // the outage: nothing can be waited for
	server.Thaw()
	if err := h.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.want(want...)
	wantNothingOf(t, d, "job")
}

// TestALonelyTryLockPassesOverTheDead has nobody but TryLock ask, seldom. The first that
// sees a silence of everybody may not know an outage from a death, the next one does.
func TestALonelyTryLockPassesOverTheDead(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.FairMutex("job").Lock(t.Context()))
		doomed, end := doomedWaiter(s)
		doomed.die()
		_ = h.Unlock(t.Context())
		time.Sleep(time.Minute)
		if h, err := s.Client.FairMutex("job").TryLock(t.Context()); err == nil {
			_ = h.Unlock(t.Context())
		}
		time.Sleep(time.Minute)
		h, err := s.Client.FairMutex("job").TryLock(t.Context())
		if err != nil {
			t.Errorf("a queue of the dead alone: %v", err)
		} else {
			_ = h.Unlock(t.Context())
		}
		end()
	})
}

// TestSlowBeatsDoNotKeepTheDeadAlive has one living process, so far away that each of its
// keep-alives seems to end an outage.
func TestSlowBeatsDoNotKeepTheDeadAlive(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		h := check.Must(s.Client.FairMutex("job").Lock(t.Context()))
		doomed, end := doomedWaiter(s)
		var q turns
		q.wait(s, 1, s.On(&distant{Driver: s.Memory, trip: 2200 * time.Millisecond}, redlatch.Config{}).FairMutex("job"))
		time.Sleep(12 * time.Second) // only keep-alives are sent any more
		doomed.die()
		died := time.Now()
		_ = h.Unlock(t.Context())
		q.inOrder(t, 1)
		check.Within(t, "time until the living was served", time.Since(died), 0, 20*time.Second)
		end()
	})
}

// Goal: a server's clock that goes back by an hour does not keep a dead waiter in the queue for an
// hour. Method: the keep-alive of a client that is gone stands an hour ahead.
func TestAKeepAliveAheadOfTheClockIsNoLife(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		const dead = "00000000-0000-4000-8000-000000000000"
		ahead := float64(time.Now().Add(time.Hour).UnixMilli())
		m := s.Memory.Miniredis()
		_, _ = m.Push("redisson_lock_queue:{job}", dead+":1")
		_, _ = m.ZAdd("redisson_lock_timeout:{job}", ahead, dead+":1")
		_, _ = m.ZAdd("redlatch:fair:{job}", ahead, dead)
		h := check.Must(s.Client.FairMutex("job").Lock(s.Limited(), redlatch.WithWait(25*time.Second)))
		_ = h.Unlock(s.Limited())
	})
}

// Goal: nor does an outage that was noted before the clock went back. Method: it stands ten minutes ahead,
// and the head of the queue was heard of for the last time just now.
func TestAnOutageAheadOfTheClockKeepsNoDeadInTheQueue(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		const dead = "00000000-0000-4000-8000-000000000000"
		now, m := time.Now(), s.Memory.Miniredis()
		_, _ = m.Push("redisson_lock_queue:{job}", dead+":1")
		_, _ = m.ZAdd("redisson_lock_timeout:{job}", float64(now.Add(time.Hour).UnixMilli()), dead+":1")
		_, _ = m.ZAdd("redlatch:fair:{job}", float64(now.UnixMilli()), dead)
		_, _ = m.ZAdd("redlatch:fair:{job}", float64(now.Add(10*time.Minute).UnixMilli()), "!:outage")
		h, err := s.Client.FairMutex("job").Lock(s.Limited(), redlatch.WithWait(25*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_ = h.Unlock(s.Limited())
	})
}

// Goal: a time ahead of the clock does not hide an outage, after which silence is no death. Method: a
// client that is gone stands an hour ahead, and nobody was heard of for five seconds.
func TestAKeepAliveAheadOfTheClockHidesNoOutage(t *testing.T) {
	stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
		const gone, silent = "00000000-0000-4000-8000-000000000000", "00000000-0000-4000-8000-000000000001"
		now, m := time.Now(), s.Memory.Miniredis()
		_, _ = m.Push("redisson_lock_queue:{job}", silent+":1")
		_, _ = m.ZAdd("redisson_lock_timeout:{job}", float64(now.Add(time.Hour).UnixMilli()), silent+":1")
		_, _ = m.ZAdd("redlatch:fair:{job}", float64(now.Add(-5*time.Second).UnixMilli()), silent)
		_, _ = m.ZAdd("redlatch:fair:{job}", float64(now.Add(time.Hour).UnixMilli()), gone)
		_, err := s.Client.FairMutex("job").TryLock(s.Limited())
		check.Is(t, "TryLock behind a client that was cut off", err, redlatch.ErrNotAcquired)
	})
}
