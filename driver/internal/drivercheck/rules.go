package drivercheck

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Dialer connects to an address.
type Dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// Movable is a dialer whose address leads to whichever server is stored.
func Movable(first *redistest.Server) (dial Dialer, to *atomic.Pointer[redistest.Server]) {
	to = new(atomic.Pointer[redistest.Server])
	to.Store(first)
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, to.Load().Addr())
	}, to
}

// LinkBreaksFirst checks that a client knows what it knows from one server. A name moves to another server while the
// former one lives and the link to it lasts. Each kind of further connection leads to the new one.
func LinkBreaksFirst(t *testing.T, open func(Dialer) driver.Driver) {
	for name, connect := range map[string]func(driver.Driver) error{
		"DedicatedPipeline": func(d driver.Driver) error {
			return d.DedicatedPipeline(context.Background(), Command("SET", "touched", "1"))[0].Err
		},
		"Listen": func(d driver.Driver) error {
			l, err := d.Listen(context.Background(), driver.Events{})
			if err != nil {
				return err
			}
			defer l.Close()
			return l.Subscribe(context.Background(), "channel")
		},
	} {
		former, next := redistest.Start(t), redistest.Start(t)
		dial, to := Movable(former)
		d := open(dial)
		Do(t, d, "PING")
		to.Store(next)
		redistest.Eventually(t, Soon, func() bool {
			return connect(d) == nil && d.Do(t.Context(), Command("SET", "here", name)).Err == nil && next.CLI(t, "GET", "here") == name
		}, name+": all connections have moved")
		if former.CLI(t, "GET", "touched") != nil {
			t.Errorf("%s: a dedicated call went to the former server", name)
		}
		run, moves := d.(driver.Identified).RunID()
		if about := Do(t, d, "INFO", "server").Str; !strings.Contains(about, "run_id:"+run+"\r") || moves < 2 {
			t.Errorf("%s: it is said to be the run %q, after %d moves, and it is\n%s", name, run, moves, about)
		}
	}
}

// ReplicaIsNotAsked checks that a server that has come back as a replica is not asked, not even for what it has not got
// from the new primary yet.
func ReplicaIsNotAsked(t *testing.T, server *redistest.Server, d driver.Driver) {
	Do(t, d, "SET", "name", "value")
	server.CLI(t, "FLUSHALL")
	server.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	server.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; {
		if reply := d.Do(context.Background(), Command("GET", "name")); reply.Err == nil {
			t.Fatalf("it answered %v", reply)
		}
	}
	server.CLI(t, "REPLICAOF", "NO", "ONE")
	EventuallyWorks(t, d)
}
