package blocked_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// stage is a server, and clients on it that wait in their own goroutines.
type stage struct {
	*testing.T
	driver  driver.Driver
	waiting sync.WaitGroup
	ctx     context.Context // of the waits
	giveUp  context.CancelFunc
	clients []*redlatch.Client
}

const lease = 3 * time.Second // a heartbeat each 500 ms

// eachServer plays on the embedded server in fake time, and on a real one.
func eachServer(t *testing.T, play func(s *stage)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			d := redistest.Must(memory.Open(context.WithoutCancel(t.Context()), memory.Options{}))
			defer d.Close()
			on(t, d, play)
		})
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		on(t, connect(t, redistest.Start(t).Addr()), play)
	})
}

func connect(t *testing.T, address string) driver.Driver {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: address}))
	t.Cleanup(d.Close)
	return d
}

func on(t *testing.T, d driver.Driver, play func(s *stage)) {
	s := &stage{T: t, driver: d}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	play(s)
}

// end ends the waits and the clients.
func (s *stage) end() {
	s.giveUp()
	s.waiting.Wait()
	for _, c := range s.clients {
		if err := c.Close(context.Background()); err != nil {
			s.Error(err)
		}
	}
	s.clients = nil
}

// client is a protected client.
func (s *stage) client(name string) *redlatch.Client {
	return s.with(redlatch.Config{Name: name, Protect: true})
}

func (s *stage) with(cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	cfg.LeaseTime, cfg.Logger = cmp.Or(cfg.LeaseTime, lease), slog.New(slog.DiscardHandler)
	c := redistest.Must(redlatch.New(s.driver, cfg))
	s.clients = append(s.clients, c)
	return c
}

// lock takes a lock that is free.
func (s *stage) lock(ctx context.Context, l redlatch.Lock) *redlatch.Hold {
	s.Helper()
	return redistest.Must(l.TryLock(ctx))
}

// wait waits for a lock, until the waits end, and releases it.
func (s *stage) wait(ctx context.Context, l redlatch.Lock) {
	ctx, cancel := context.WithCancel(ctx)
	context.AfterFunc(s.ctx, cancel)
	s.waiting.Go(func() {
		defer cancel()
		if h, err := l.Lock(ctx); err == nil {
			_ = h.Unlock(context.Background())
		}
	})
}

func (s *stage) read(locks ...string) blocked.Graph {
	s.Helper()
	return redistest.Must(blocked.Read(context.Background(), s.driver, blocked.Options{Locks: locks}))
}

// edges reads the graph until it has n edges.
func (s *stage) edges(n int) (g blocked.Graph) {
	s.Helper()
	defer func() {
		if len(g.Edges) != n {
			s.Logf("%d edges, want %d: %+v", len(g.Edges), n, g.Edges)
		}
	}()
	redistest.Eventually(s.T, 20*time.Second, func() bool { g = s.read(); return len(g.Edges) == n }, "the graph has its edges")
	return g
}

// show is a cycle in words, which begins with its least lock.
func show(c blocked.Cycle) string {
	at := 0
	for i, e := range c.Edges {
		if e.Lock < c.Edges[at].Lock {
			at = i
		}
	}
	words := []string{map[bool]string{true: "sure:", false: "possible:"}[c.Sure]}
	for _, e := range slices.Concat(c.Edges[at:], c.Edges[:at]) {
		words = append(words, string(e.Mode), e.Lock)
	}
	return strings.Join(words, " ")
}

// wantCycles checks the cycles. It reads again for those that are to be certain: the next heartbeats confirm
// them.
func (s *stage) wantCycles(g blocked.Graph, want ...string) {
	s.Helper()
	if slices.ContainsFunc(want, func(c string) bool { return strings.HasPrefix(c, "sure:") }) {
		redistest.Eventually(s.T, 20*time.Second, func() bool {
			cycles := g.Cycles()
			sure := len(cycles) > 0 && cycles[0].Sure
			if !sure {
				g = s.read()
			}
			return sure
		}, "the cycle is certain")
	}
	var got []string
	for _, c := range g.Cycles() {
		got = append(got, show(c))
		for i, e := range c.Edges {
			if next := c.Edges[(i+1)%len(c.Edges)]; next.Waiter.Client != e.Holder.Client {
				s.Errorf("the cycle is not closed behind %v", e)
			}
		}
	}
	if !slices.Equal(got, want) {
		s.Errorf("the cycles are %q, want %q", got, want)
	}
}

func TestTwoProcessesThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.client("a"), s.client("b")
		began := time.Now()
		ha, hb := s.lock(context.Background(), a.Mutex("x")), s.lock(context.Background(), b.Mutex("y"))
		s.wait(ha.Context(), a.Mutex("y"))
		s.wait(hb.Context(), b.Mutex("x"))
		g := s.edges(2)
		s.wantCycles(g, "sure: exclusive x exclusive y")
		for _, e := range g.Edges {
			if age := g.Now.Sub(e.Since); age < 0 || age > time.Since(began)+time.Second || !e.Told {
				s.Errorf("a wait that began %v ago: %+v", age, e)
			}
		}
		if g.Clients != 2 || g.LeftOut {
			s.Errorf("the graph is %+v", g)
		}
		// A wait that ends is told no more.
		if err := hb.Unlock(context.Background()); err != nil {
			s.Error(err)
		}
		s.wantCycles(s.edges(1))
	})
}

// Goal: waits that missed each other are no certain cycle. A wait that was given up stays in Redis until the
// next heartbeat of its client. Method: one client's heartbeats are rare. Its wait is given up between two
// of them, and then the wait of a client with frequent heartbeats begins.
func TestWaitsThatMissedEachOtherAreNotCertain(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		rare := s.with(redlatch.Config{Protect: true, LeaseTime: 18 * time.Second}) // each 3s
		frequent := s.client("frequent")                                            // each 500ms
		x, y := s.lock(s.ctx, rare.Mutex("x")), s.lock(s.ctx, frequent.Mutex("y"))
		givenUp, giveUp := context.WithCancel(x.Context())
		var ended sync.WaitGroup
		ended.Go(func() { _, _ = rare.Mutex("y").Lock(givenUp) })
		s.edges(1)
		giveUp()
		ended.Wait()
		s.wait(y.Context(), frequent.Mutex("x"))
		s.wantCycles(s.edges(2), "possible: exclusive x exclusive y")
		s.wantCycles(s.edges(1))
		// Another wait meets it.
		s.wait(x.Context(), rare.Mutex("y"))
		redistest.Eventually(s.T, 20*time.Second, func() bool {
			cycles := s.read().Cycles()
			return len(cycles) > 0 && cycles[0].Sure
		}, "waits that go on together are a certain cycle")
	})
}

// Goal: what an owner acquires while it waits is no hold that the wait is under.
func TestAnOwnerThatAcquiresWhileItWaits(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.client("a"), s.client("b")
		s.lock(context.Background(), b.Mutex("y"))
		owner := a.WithOwner(context.Background())
		early := s.lock(owner, a.Mutex("early"))
		s.wait(owner, a.Mutex("y"))
		first := s.edges(1).Edges[0]
		s.lock(owner, a.Mutex("late"))
		var e blocked.Edge
		redistest.Eventually(s.T, 20*time.Second, func() bool {
			e = s.edges(1).Edges[0]
			return e.Confirmed.Sub(first.Confirmed) > lease/3 // two heartbeats
		}, "the wait is confirmed again")
		if !slices.Equal(e.Under, []string{early.Owner()}) {
			s.Errorf("it is under %v, want %s alone", e.Under, early.Owner())
		}
	})
}

// The caller gives Lock another context than the one of its hold.
func TestACycleOfProcessesAloneIsOnlyPossible(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.client("a"), s.client("b")
		s.lock(context.Background(), a.Mutex("x"))
		s.lock(context.Background(), b.Mutex("y"))
		s.wait(context.Background(), a.Mutex("y"))
		s.wait(context.Background(), b.Mutex("x"))
		s.wantCycles(s.edges(2), "possible: exclusive x exclusive y")
	})
}

func TestGoroutinesOfOneProcessThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a := s.client("a")
		hx, hy := s.lock(context.Background(), a.Mutex("x")), s.lock(context.Background(), a.Mutex("y"))
		s.wait(hx.Context(), a.Mutex("y"))
		s.wait(hy.Context(), a.Mutex("x"))
		s.wantCycles(s.edges(2), "sure: exclusive x exclusive y")
	})
}

func TestThreeProcessesOverAFairLockAndBothSidesOfReadWriteLocks(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b, c := s.client("a"), s.client("b"), s.client("c")
		ha := s.lock(context.Background(), a.FairMutex("fair"))
		hb := s.lock(context.Background(), b.RWMutex("book").RLocker())
		hc := s.lock(context.Background(), c.RWMutex("table"))
		s.wait(ha.Context(), a.RWMutex("book"))
		s.wait(hb.Context(), b.RWMutex("table").RLocker())
		s.wait(hc.Context(), c.FairMutex("fair"))
		s.wantCycles(s.edges(3), "sure: write book read table fair fair")
	})
}

// An owner has another name in Redis for each lock that it holds.
func TestTheOwnerOfAContextAndAMultiTellWhatTheyHold(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.client("a"), s.client("b")
		owner := a.WithOwner(context.Background())
		s.lock(owner, a.Mutex("x"))
		s.lock(owner, a.Mutex("x"))
		both, err := redlatch.NewMulti(b.Mutex("x"), b.Mutex("y"))
		if err != nil {
			s.Fatal(err)
		}
		s.wait(context.Background(), both) // y comes first in its order
		redistest.Eventually(s.T, 20*time.Second, func() bool { return b.Stats().Waiters == 1 }, "it has y and waits for x")
		s.wait(owner, a.Mutex("y"))
		s.wantCycles(s.edges(2), "sure: exclusive x exclusive y")
	})
}

func TestAQueueOfAFairLockIsSeenWithoutAnyProtection(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.with(redlatch.Config{Name: "a"}), s.with(redlatch.Config{Name: "b"})
		s.lock(context.Background(), a.FairMutex("x"))
		s.wait(context.Background(), b.FairMutex("x"))
		redistest.Eventually(s.T, 20*time.Second, func() bool { return len(s.read("x").Edges) == 1 }, "the queue is seen")
		e := s.read("x").Edges[0]
		if e.Told || !e.Since.IsZero() || e.Mode != blocked.ModeFair || e.Waiter.Client != b.ID() || e.Holder.Client != a.ID() {
			s.Errorf("the edge is %+v", e)
		}
		if len(s.read().Edges) > 0 {
			s.Error("a lock that nobody named was found")
		}
	})
}

// Nothing is left of a client that closes, and the waits of one that dies expire with its session.
func TestWaitsDoNotOutliveTheirClient(t *testing.T) {
	t.Parallel()
	eachServer(t, func(s *stage) {
		a, b := s.client("a"), s.client("b")
		s.lock(context.Background(), a.Mutex("x"))
		s.wait(context.Background(), b.Mutex("x"))
		s.edges(1)
		key := protocol.WaitsKey(b.ID())
		left := s.do("PTTL", key)
		session := s.do("PTTL", protocol.SessionKey(b.ID()))
		if left.Int <= 0 || left.Int > session.Int+300 || left.Int > 2*lease.Milliseconds() {
			s.Errorf("the waits live for %d ms, the session for %d", left.Int, session.Int)
		}
		s.giveUp()
		s.waiting.Wait()
		if err := b.Close(context.Background()); err != nil {
			s.Error(err)
		}
		if s.do("EXISTS", key).Int != 0 {
			s.Error("the waits of a closed client are still there")
		}
	})
}

func (s *stage) do(words ...string) driver.Reply {
	s.Helper()
	reply := s.driver.Do(context.Background(), driver.Command{Words: words, Key: words[min(1, len(words)-1)]})
	if reply.Err != nil {
		s.Fatal(words, reply.Err)
	}
	return reply
}
