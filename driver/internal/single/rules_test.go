package single_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: a client knows what it knows from one server. Method: a name moves to another server while the
// former one lives and the link to it lasts; each kind of further connection leads to the new one.
func TestAConnectionToAnotherServerBreaksTheLinkFirst(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*single.Driver) error{
		"DedicatedPipeline": func(d *single.Driver) error {
			reply := d.DedicatedPipeline(context.Background(), command("SET", "touched", "1"))[0]
			return reply.Err
		},
		"Listen": func(d *single.Driver) error {
			l, err := d.Listen(context.Background(), driver.Events{})
			if err == nil {
				l.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			var address atomic.Value
			address.Store(p.servers[0].Addr())
			d := open(t, single.Options{Address: "name:1", Dial: func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", address.Load().(string))
			}})
			address.Store(p.servers[1].Addr())
			wantNotSent(t, connect(d))
			redistest.Eventually(t, soon, func() bool { return connect(d) == nil }, "further connections are made again")
			if got := do(t, d, "GET", "name").Str; got != "new" {
				t.Errorf("calls go to the %s server, and other connections do not", got)
			}
			if about := do(t, d, "INFO", "server").Str; !strings.Contains(about, "run_id:"+d.RunID()+"\r") {
				t.Errorf("it is said to be the run %q, and it is\n%s", d.RunID(), about)
			}
		})
	}
}

// Goal: a server that was a primary and has come back as a replica is not asked. Method: without data,
// for it has not got the data of the new primary yet.
func TestAPrimaryThatComesBackAsAReplicaIsNotAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := open(t, single.Options{Address: server.Addr(), CommandTimeout: time.Second})
	do(t, d, "SET", "name", "value")
	server.CLI(t, "FLUSHALL")
	server.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	server.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	for began := time.Now(); time.Since(began) < 1500*time.Millisecond; {
		if reply := d.Do(context.Background(), command("GET", "name")); reply.Err == nil {
			t.Fatalf("it answered %v", reply)
		}
	}
	server.CLI(t, "REPLICAOF", "NO", "ONE")
	eventuallyWorks(t, d)
}

// Goal: no call waits for a dialer, or for credentials, that ignores its context, and neither does Close.
// What such a dialer makes later is closed. Method: it is held up by the test.
func TestNobodyWaitsForForeignCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Dial", "Credentials"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			var held atomic.Bool
			release := make(chan struct{})
			hold := func() {
				if held.Load() {
					<-release
				}
			}
			options := single.Options{Address: server.Addr(), CommandTimeout: 500 * time.Millisecond,
				Dial: func(_ context.Context, address string) (net.Conn, error) {
					if name == "Dial" {
						hold()
					}
					return net.Dial("tcp", address)
				},
			}
			if name == "Credentials" {
				options.Credentials = func(context.Context, string) (string, string, error) { hold(); return "", "", nil }
			}
			d, err := single.Open(t.Context(), options)
			if err != nil {
				t.Fatal(err)
			}
			held.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = d.DedicatedPipeline(ctx, command("PING"))
				_, _ = d.Listen(ctx, driver.Events{})
				server.CLI(t, "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
				_ = d.Do(ctx, command("PING"))
				_, _ = single.Open(ctx, options)
				d.Close()
			}()
			drivercheck.Within(t, ended, "every call and Close end")
			held.Store(false)
			close(release)
			redistest.Eventually(t, soon, func() bool { return connections(t, server) == 0 }, "late connections are closed")
		})
	}
}
