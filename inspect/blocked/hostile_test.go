package blocked_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/watchdog"
)

const (
	other = "11111111-1111-4111-8111-111111111111"
	liar  = "22222222-2222-4222-8222-222222222222"
)

// known makes a client count as protected.
func (s *stage) known(client string) {
	s.do("ZADD", protocol.Sessions, fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()), client)
}

// Goal: a client is believed about its own owners alone, and nothing that is written in the place of
// its waits is taken for a wait.
func TestWaitsThatNoClientWritesAreLeftOut(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		s.do("HSET", "x", other+":1", "1")
		s.known(liar)
		key := protocol.WaitsKey(liar)
		long := strings.Repeat("n", 1500)
		for field, entry := range map[string]string{
			other + ":7 x":         "exclusive 1 ",
			other + ":8 x":         "exclusive 1",
			liar + ":1 x":          "exclusive -1",
			liar + ":2 x":          "maybe 1",
			liar + ":3 x":          "exclusive 1 2 3 4 5 6 7 8 9",
			liar + ":4 x":          "exclusive 01",
			liar + ":5 x":          "exclusive 1 x",
			liar + ":6 " + long:    "exclusive 1",
			liar + ":7 a\nb":       "exclusive 1",
			liar + ":8":            "exclusive 1",
			liar + ":9 x":          "exclusive 1 " + long,
			liar + ":9" + long:     "exclusive 1",
			liar + ":10 x":         "exclusive 99999999999999999",
			"x":                    "",
			liar + ":write x":      "exclusive 1",
			liar + ":13 x":         "exclusive 1-",
			liar + ":14 x":         "exclusive 1-x",
			liar + ":15 x":         "exclusive 1-0",
			liar + ":16 x":         "exclusive 1-02",
			liar + ":17 x":         "exclusive 1--2",
			liar + ":18 x":         "exclusive 1-2-3",
			liar + ":19 x":         "exclusive 1-99999999999999999",
			liar + ":20 x":         "exclusive -2",
			liar + ":0000000011 x": "exclusive 1",
		} {
			s.do("HSET", key, field, entry)
		}
		if g := s.read(); len(g.Edges) > 0 || !g.LeftOut {
			s.Errorf("the graph is %+v", g)
		}
		s.do("HSET", key, liar+":12 x", "exclusive 1000 3")
		if g := s.read(); len(g.Edges) != 1 || g.Edges[0].Under[0] != liar+":3" || g.Edges[0].Since.UnixMilli() != 1000 || !g.Edges[0].Confirmed.IsZero() {
			s.Errorf("the one that is right is not seen: %+v", g)
		}
		for confirmed, want := range map[string]int64{"2000": 2000, "253402300000000": 0} { // none in the future
			s.do("HSET", key, liar+":12 x", "exclusive 1000-"+confirmed+" 3")
			if g := s.read(); len(g.Edges) != 1 || !g.Edges[0].Confirmed.IsZero() != (want > 0) || want > 0 && g.Edges[0].Confirmed.UnixMilli() != want {
				s.Errorf("confirmed at %s it is %+v", confirmed, g)
			}
		}
		s.do("DEL", key)
		s.do("SET", key, "text")
		if g := s.read(); len(g.Edges) > 0 || !g.LeftOut {
			s.Errorf("a text in the place of waits: %+v", g)
		}
	})
}

// A reader waits for the writer alone, and who holds the lock by now waits no more.
func TestWaitsThatAreOverAreNoEdges(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a := s.client("a")
		h := s.lock(context.Background(), a.RWMutex("book").RLocker())
		s.lock(context.Background(), a.Mutex("x"))
		s.known(liar)
		s.do("HSET", protocol.WaitsKey(liar), liar+":1 book", "read 1000", liar+":2 book", "write 1000", liar+":3 x", "exclusive 1000", liar+":4 free", "fair 1000")
		if g := s.read(); len(g.Edges) != 2 || g.Edges[0].Mode != blocked.ModeWrite || g.Edges[1].Lock != "x" {
			s.Errorf("the graph is %+v", g)
		}
		s.do("HSET", protocol.WaitsKey(a.ID()), h.Owner()+" book", "write 1000")
		if g := s.read(); len(g.Edges) != 2 {
			s.Errorf("an owner waits for itself: %+v", g)
		}
	})
}

func TestTheGraphIsBounded(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		s.do("HSET", "x", other+":1", "1")
		for i := range 5 {
			client := fmt.Sprintf("%08d-2222-4222-8222-222222222222", i)
			s.known(client)
			words := []string{"HSET", protocol.WaitsKey(client)}
			for n := range 600 {
				words = append(words, fmt.Sprintf("%s:%d x", client, n), "exclusive 1")
			}
			s.do(words...)
		}
		s.known(strings.Repeat("x", 100))
		g := s.read()
		if len(g.Edges) > 5*script.MaxWaits || len(g.Edges) < 5*100 || !g.LeftOut {
			s.Errorf("%d edges, left out: %v", len(g.Edges), g.LeftOut)
		}
	})
}

// Goal: of a client that holds many locks, every queue is read. Method: more locks than a script reads of a session,
// each with one waiter that is not protected.
func TestEveryQueueOfAClientWithManyLocksIsRead(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		s.known(liar)
		const locks = 1200
		for n := range locks {
			name := fmt.Sprint("lock-", n)
			s.do("HSET", name, liar+":1", "1")
			s.do("HSET", protocol.SessionKey(liar), protocol.SessionField(liar+":1", name), protocol.SessionEntry(false, 1, 30_000, 0))
			s.do("RPUSH", protocol.FairQueue(name), other+":1")
			s.do("ZADD", protocol.FairDeadlines(name), "9e12", other+":1")
		}
		if g := s.read(); len(g.Edges) != locks || g.LeftOut {
			s.Errorf("%d waits of %d are seen, left out: %v", len(g.Edges), locks, g.LeftOut)
		}
	})
}

// Goal: sessions with more entries than any client has cost a bounded number of requests. Method: one that is cut is
// said to be.
func TestSessionsAreReadInABoundedNumberOfParts(t *testing.T) {
	t.Parallel()
	s := &stage{T: t, driver: connect(t, redistest.Start(t).Addr())}
	s.known(liar)
	for i := range 250 { // parts
		words := []string{"HSET", protocol.SessionKey(liar)}
		for n := range 600 {
			words = append(words, fmt.Sprint("entry-", i, "-", n), "junk")
		}
		s.do(words...)
	}
	if g := s.read(); !g.LeftOut {
		t.Error("all of it was read")
	}
}

// Goal: however many goroutines wait, a heartbeat tells 256 of them, and the rest is not lost sight of.
func TestLongAHeartbeatTellsSomeOfVeryManyWaits(t *testing.T) {
	s := &stage{T: t, driver: connect(t, redistest.Start(t).Addr())}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	a, b := s.client("a"), s.client("b")
	s.lock(context.Background(), a.Mutex("x"))
	s.wait(context.Background(), b.Mutex("x"))
	s.edges(1)
	const waiters = 10_000
	for range waiters {
		s.wait(context.Background(), b.Mutex("x"))
	}
	redistest.Eventually(t, 30*time.Second, func() bool { return s.do("HLEN", protocol.WaitsKey(b.ID())).Int == script.MaxWaits }, "the bound is reached")
	g := s.edges(script.MaxWaits)
	if size := s.do("MEMORY", "USAGE", protocol.WaitsKey(b.ID())).Int; size > 64<<10 {
		t.Errorf("the waits take %d bytes", size)
	}
	if b.Stats().Holds > 0 || g.Edges[0].Since.After(g.Edges[len(g.Edges)-1].Since) {
		t.Error("the longest wait is not the first")
	}
}

// Goal: a watchdog serves and removes a session as before, whatever stands in its waits.
func TestAWatchdogDoesNotReadWaits(t *testing.T) {
	t.Parallel()
	s := &stage{T: t, driver: connect(t, redistest.Start(t).Addr())}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	w := redistest.Must(watchdog.New(s.driver, watchdog.Config{}))
	s.waiting.Go(func() { _ = w.Run(s.ctx) })
	a, b := s.client("a"), s.client("b")
	s.lock(context.Background(), a.Mutex("x"))
	s.wait(context.Background(), b.Mutex("x"))
	s.edges(1)
	redistest.Eventually(t, 20*time.Second, func() bool { return b.Stats().Watchdogs == 1 }, "it is protected")
	// A client that is dead: no pulse, and overdue. Its waits are told no more once it is removed.
	s.do("HSET", protocol.WaitsKey(liar), liar+":1 x", "exclusive 1000")
	s.do("ZADD", protocol.Sessions, fmt.Sprint(time.Now().Add(-time.Second).UnixMilli()), liar)
	redistest.Eventually(t, 20*time.Second, func() bool { return len(s.read().Edges) == 1 && w.Stats().Dead > 0 }, "the dead client is gone")
	if s := w.Stats(); s.Failures > 0 || s.Skipped > 0 {
		t.Errorf("the watchdog counted %+v", s)
	}
}

func TestAServerThatRefusesIsAnError(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, c := range []struct{ rights, why string }{
		{"+@all -zrevrange", "list of protected clients"},
		{"+@all -hscan", "waits of a client"},
		{"+@all -hgetall", `lock "x"`},
		{"+@all resetkeys ~x ~redlatch:sessions ~redlatch:session:*:waits", "holds of a client"},
	} {
		server.CLI(t, strings.Fields("ACL SETUSER limited reset on >password ~* &* "+c.rights)...)
		client := redistest.Must(redlatch.Open(t.Context(), strings.Replace(server.URL(), "://", "://limited:password@", 1), redlatch.Config{}))
		d := connect(t, server.Addr())
		d.Do(t.Context(), driverCommand("HSET", "x", other+":1", "1"))
		d.Do(t.Context(), driverCommand("HSET", protocol.WaitsKey(liar), liar+":1 x", "exclusive 1000"))
		d.Do(t.Context(), driverCommand("ZADD", protocol.Sessions, "9e12", liar))
		if _, err := blocked.Read(t.Context(), client.Driver(), blocked.Options{}); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: the error is %v", c.rights, err)
		}
		_ = client.Close(t.Context())
	}
}

func TestAFrozenServerIsAnErrorInTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	server.Freeze()
	defer server.Thaw()
	began := time.Now()
	if _, err := blocked.Read(t.Context(), d, blocked.Options{CommandTimeout: 200 * time.Millisecond}); err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}

func driverCommand(words ...string) driver.Command {
	return driver.Command{Words: words, Key: words[1]}
}
