package blocked_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/inspect/blocked"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: with the user of docs/acl.md, waits are told and read, and the server refuses nothing.
func TestTheUserOfTheDocumentationIsEnough(t *testing.T) {
	t.Parallel()
	page := redistest.Must(os.ReadFile("../../docs/acl.md"))
	server := redistest.Start(t)
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER orders .*$`).FindAllString(string(page), -1) {
		server.CLI(t, strings.Fields(line)...)
	}
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr(), Username: "orders", Password: "password"}))
	defer d.Close()
	s := &stage{T: t, driver: d}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	a, b := s.with(redlatch.Config{Prefix: "orders:", Protect: true}), s.with(redlatch.Config{Prefix: "orders:", Protect: true})
	ha, hb := s.lock(context.Background(), a.RWMutex("x")), s.lock(context.Background(), b.FairMutex("y"))
	s.wait(ha.Context(), a.FairMutex("y"))
	s.wait(hb.Context(), b.RWMutex("x"))
	s.wantCycles(s.edges(2), "sure: write orders:x fair orders:y")
	s.end()
	for _, one := range server.CLI(t, "ACL", "LOG").([]any) {
		if text := fmt.Sprint(one); !strings.Contains(text, "setinfo") {
			t.Error("the server refused", text)
		}
	}
}

// Goal: the inspector of docs/acl.md sees who waits, too.
func TestTheInspectorOfTheDocumentationIsEnough(t *testing.T) {
	t.Parallel()
	page := redistest.Must(os.ReadFile("../../docs/acl.md"))
	server := redistest.Start(t)
	for _, line := range regexp.MustCompile(`(?m)^ACL SETUSER inspector .*$`).FindAllString(string(page), -1) {
		server.CLI(t, strings.Fields(line)...)
	}
	const a, b = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"
	server.CLI(t, "ZADD", "redlatch:sessions", "9e12", a)
	server.CLI(t, "HSET", "redlatch:session:{"+a+"}:waits", a+":2 y", "exclusive 1000", a+":3 z", "write 1000")
	server.CLI(t, "HSET", "y", b+":1", "1")
	server.CLI(t, "HSET", "z", "mode", "read", b+":1", "1")
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr(), Username: "inspector", Password: "password"}))
	defer d.Close()
	if graph, err := blocked.Read(t.Context(), d, blocked.Options{Locks: []string{"x"}}); err != nil || len(graph.Edges) != 2 {
		t.Errorf("%+v, %v", graph, err)
	}
}

// Goal: the names and addresses of processes, which the server knows of connections with names.
func TestTheProcessesAreNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	open := func(name string) *redlatch.Client {
		return redistest.Must(redlatch.Open(t.Context(), server.URL(), redlatch.Config{Name: name, Protect: true, LeaseTime: lease, Logger: slog.New(slog.DiscardHandler)}))
	}
	s := &stage{T: t, driver: connect(t, server.Addr())}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	a, b := open("holds"), open("waits")
	s.clients = append(s.clients, a, b)
	s.lock(context.Background(), a.Mutex("x"))
	s.wait(context.Background(), b.Mutex("x"))
	e := s.edges(1).Edges[0]
	if e.Holder.Name != "holds" || e.Waiter.Name != "waits" || !strings.HasPrefix(e.Holder.Addr, "127.0.0.1:") || e.Waiter.Addr == e.Holder.Addr {
		t.Errorf("the edge is %+v", e)
	}
}

// Goal: a server of a Cluster that is away does not hide what the others have, and is an error.
func TestAClusterOfWhichAServerIsAway(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 3, 0)
	client, err := redlatch.Open(t.Context(), "redis+cluster://"+strings.Join(c.Addrs(), ","), redlatch.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	s := &stage{T: t, driver: client.Driver()}
	home := c.Master(t, protocol.Sessions)
	away := c.Servers[slices.IndexFunc(c.Servers, func(s *redistest.Server) bool { return s != home })]
	near, far := c.KeyAt(t, home), c.KeyAt(t, away)
	client1 := "" // whose waits lie beside the list of clients
	for n := 0; client1 == ""; n++ {
		if one := fmt.Sprintf("%08d-0000-4000-8000-000000000000", n); c.Master(t, protocol.WaitsKey(one)) == home {
			client1 = one
		}
	}
	for _, server := range c.Servers {
		server.CLI(t, "CONFIG", "SET", "cluster-require-full-coverage", "no")
	}
	s.known(client1)
	s.do("HSET", protocol.WaitsKey(client1), client1+":1 "+near, "exclusive 1000", client1+":2 "+far, "exclusive 1000")
	s.do("HSET", near, other+":1", "1")
	s.do("HSET", far, other+":2", "1")
	away.Kill()
	g, err := blocked.Read(t.Context(), s.driver, blocked.Options{CommandTimeout: time.Second})
	if err == nil || !g.LeftOut || len(g.Edges) != 1 || g.Edges[0].Lock != near {
		t.Errorf("%v: %+v", err, g)
	}
}

// Goal: Read keeps to its rate.
func TestTheRateIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := redistest.Must(memory.Open(context.WithoutCancel(t.Context()), memory.Options{}))
		defer d.Close()
		s := &stage{T: t, driver: d}
		for n := range 50 { // two commands each
			s.known(fmt.Sprintf("%08d-0000-4000-8000-000000000000", n))
		}
		for rate, want := range map[int]time.Duration{0: 0, 20: 4900 * time.Millisecond} { // the last two wait for nothing
			began := time.Now()
			if _, err := blocked.Read(t.Context(), d, blocked.Options{Rate: rate}); err != nil || time.Since(began) != want {
				t.Errorf("at %d commands a second it took %v, want %v (%v)", rate, time.Since(began), want, err)
			}
		}
	})
}

// Goal: in a Cluster, waits and locks on all servers are seen.
func TestWaitsInACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.SharedCluster(t)
	open := func() *redlatch.Client {
		return redistest.Must(redlatch.Open(t.Context(), "redis+cluster://"+strings.Join(cluster.Addrs(), ","), redlatch.Config{Protect: true, LeaseTime: lease, CommandTimeout: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)}))
	}
	a, b := open(), open()
	s := &stage{T: t, driver: a.Driver(), clients: []*redlatch.Client{a, b}}
	s.ctx, s.giveUp = context.WithCancel(context.Background())
	defer s.end()
	ha, hb := s.lock(context.Background(), a.Mutex("order:1")), s.lock(context.Background(), b.RWMutex("order:22"))
	s.wait(ha.Context(), a.RWMutex("order:22"))
	s.wait(hb.Context(), b.Mutex("order:1"))
	s.wantCycles(s.edges(2), "sure: exclusive order:1 write order:22")
	if _, err := blocked.Read(context.Background(), s.driver, blocked.Options{}); err != nil {
		t.Error(err)
	}
}
