package single_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/drivercheck"
	"github.com/redlatch/redlatch/driver/internal/single"
	"github.com/redlatch/redlatch/internal/redistest"
)

// openPrimary connects until the end of the test.
func openPrimary(t *testing.T, options single.Options, resolve func(context.Context) (string, error)) *single.Driver {
	t.Helper()
	d := redistest.Must(single.OpenPrimary(t.Context(), options, resolve))
	t.Cleanup(d.Close)
	return d
}

// at resolves to one address.
func at(address string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return address, nil }
}

// dialInstead connects to an address, whichever is asked for, from the second time on.
func dialInstead(address string) func(context.Context, string) (net.Conn, error) {
	var dials atomic.Int64
	return func(ctx context.Context, asked string) (net.Conn, error) {
		if dials.Add(1) > 1 {
			asked = address
		}
		return new(net.Dialer).DialContext(ctx, "tcp", asked)
	}
}

// pair is two servers, of which one is the right one.
type pair struct {
	servers [2]*redistest.Server
	right   atomic.Int64
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{servers: [2]*redistest.Server{redistest.Start(t), redistest.Start(t)}}
	p.servers[0].CLI(t, "SET", "name", "old")
	p.servers[1].CLI(t, "SET", "name", "new")
	return p
}

func (p *pair) resolve(context.Context) (string, error) { return p.servers[p.right.Load()].Addr(), nil }

var errMoved = errors.New("the server has moved")

func TestDropMovesEveryConnection(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	d := openPrimary(t, single.Options{Address: "the-right-one"}, p.resolve)
	listener := redistest.Must(d.Listen(t.Context(), driver.Events{}))
	dedicated(t, d, "PING") // and is idle
	failed := make(chan error, 2)
	go func() { failed <- d.DedicatedPipeline(context.Background(), command("BLPOP", "list", "0"))[0].Err }()
	go func() { failed <- d.Do(context.Background(), command("BLPOP", "list", "0")).Err }()
	redistest.Eventually(t, soon, func() bool {
		return strings.Contains(p.servers[0].CLI(t, "INFO", "clients").(string), "blocked_clients:2")
	}, "both calls are under way")

	p.right.Store(1)
	single.Drop(d, errMoved)
	for range cap(failed) {
		err := drivercheck.Within(t, failed, "the end of a call")
		wantUnknown(t, err)
		wantNoContextError(t, err)
	}
	drivercheck.Within(t, listener.Done(), "the end of the listener")
	if got := dedicated(t, d, "GET", "name").Str; got != "new" {
		t.Errorf("the dedicated call went to the %s server", got)
	}
	if got := do(t, d, "GET", "name").Str; got != "new" {
		t.Errorf("the call went to the %s server", got)
	}
	again, lines := listenToShard(t, d)
	if err := again.Subscribe(t.Context(), "channel"); err != nil {
		t.Fatal(err)
	}
	p.servers[1].CLI(t, "PUBLISH", "channel", "hello")
	wantLines(t, lines, "+channel", "channel hello")
	redistest.Eventually(t, soon, func() bool { return connections(t, p.servers[0]) == 0 }, "the old server has no client left")
}

// TestDropSparesNoConnectionInTheMaking: the old server's address is given out, then the
// connection is dropped, and only then is the dial allowed to go on, which knows nothing
// of contexts.
func TestDropSparesNoConnectionInTheMaking(t *testing.T) {
	t.Parallel()
	for _, verb := range []struct {
		name string
		call func(*single.Driver) (server string, err error)
	}{
		{"Do", func(d *single.Driver) (string, error) {
			reply := d.Do(context.Background(), command("GET", "name"))
			return reply.Str, reply.Err
		}},
		{"DedicatedPipeline", func(d *single.Driver) (string, error) {
			reply := d.DedicatedPipeline(context.Background(), command("GET", "name"))[0]
			return reply.Str, reply.Err
		}},
		{"Listen", func(d *single.Driver) (string, error) {
			l, err := d.Listen(context.Background(), driver.Events{})
			if err != nil {
				return "", err
			}
			<-l.Done()
			return "old", nil
		}},
	} {
		t.Run(verb.name, func(t *testing.T) {
			t.Parallel()
			dropWhileConnecting(t, verb.name == "Do", verb.call)
		})
	}
}

// dropWhileConnecting makes a call that needs a new connection, and drops that while it is
// being made.
func dropWhileConnecting(t *testing.T, dropBefore bool, call func(*single.Driver) (server string, err error)) {
	t.Helper()
	p := newPair(t)
	var first atomic.Bool
	dialling, allowed := make(chan struct{}), make(chan struct{})
	d := openPrimary(t, single.Options{Address: "the-right-one", CommandTimeout: soon,
		Dial: func(_ context.Context, address string) (net.Conn, error) {
			if first.CompareAndSwap(true, false) {
				close(dialling)
				<-allowed
			}
			return net.Dial("tcp", address)
		}}, p.resolve)
	first.Store(true)
	if dropBefore {
		single.Drop(d, errMoved) // so that it needs a connection
	}
	type result struct {
		server string
		err    error
	}
	done := make(chan result, 1)
	go func() {
		server, err := call(d)
		done <- result{server, err}
	}()
	drivercheck.Within(t, dialling, "the dial")
	p.right.Store(1)
	single.Drop(d, errMoved)
	close(allowed)
	r := drivercheck.Within(t, done, "the call")
	if r.server == "old" {
		t.Error("the old server is used after Drop")
	}
	if r.err != nil && (!errors.Is(r.err, driver.ErrNotSent) || !strings.Contains(r.err.Error(), errMoved.Error())) {
		t.Errorf("error %v, want ErrNotSent with the reason of Drop", r.err)
	}
	d.Close()
	single.Drop(d, errMoved) // does nothing
}

// TestDropEndsAnAttemptToConnect to a server that answers nothing, which would take the
// whole command timeout.
func TestDropEndsAnAttemptToConnect(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	dialled := make(chan struct{}, 10)
	d := openPrimary(t, single.Options{Address: "the-right-one", CommandTimeout: time.Minute,
		Dial: func(_ context.Context, address string) (net.Conn, error) {
			defer func() { dialled <- struct{}{} }()
			return net.Dial("tcp", address)
		}}, p.resolve)
	<-dialled
	p.servers[0].Freeze()
	single.Drop(d, errMoved)
	drivercheck.Within(t, dialled, "the connection to the frozen server")
	p.right.Store(1)
	begin := time.Now()
	single.Drop(d, errMoved)
	if got := do(t, d, "GET", "name").Str; got != "new" {
		t.Errorf("the call went to the %s server", got)
	}
	wantTook(t, begin, 0, "a connection after Drop")
}

func TestAnAddressThatIsNotKnownIsNoConnection(t *testing.T) {
	t.Parallel()
	server, lost := redistest.Start(t), errors.New("nobody knows where it is")
	var unknown atomic.Bool
	resolve := func(context.Context) (string, error) {
		if unknown.Load() {
			return "", lost
		}
		return server.Addr(), nil
	}
	d := openPrimary(t, single.Options{Address: "lost-server", CommandTimeout: time.Second}, resolve)
	unknown.Store(true)
	single.Drop(d, errMoved)
	for _, err := range []error{d.Do(t.Context(), command("PING")).Err, d.DedicatedPipeline(t.Context(), command("PING"))[0].Err} {
		if !errors.Is(err, lost) || !errors.Is(err, driver.ErrNoConnection) || !strings.Contains(err.Error(), "lost-server") {
			t.Errorf("error %v, want ErrNoConnection, the server's name and the reason", err)
		}
	}
	unknown.Store(false)
	eventuallyWorks(t, d)
}

func TestCertificateIsOfTheResolvedAddress(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(nil)
	defer certified.Close()
	front := redistest.NewTLSFront(t, redistest.Shared(t).Addr(), certified.TLS.Certificates[0])
	authorities := x509.NewCertPool()
	authorities.AddCert(certified.Certificate())
	_, port, _ := net.SplitHostPort(front)
	for address, good := range map[string]bool{front: true, "localhost:" + port: false} {
		d, err := single.OpenPrimary(t.Context(), single.Options{Address: "example.com", TLS: &tls.Config{RootCAs: authorities}}, at(address))
		if (err == nil) != good {
			t.Errorf("%s: error %v", address, err)
		}
		if err == nil {
			d.Close()
		}
	}
}

func TestPrimaryRefusesReplicas(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.CLI(t, "ACL", "SETUSER", "locker", "on", ">secret", "~*", "&*", "+@all", "-role")
	options := single.Options{Address: "the-primary", CommandTimeout: time.Second}
	d := openPrimary(t, options, at(server.Addr()))
	server.CLI(t, "REPLICAOF", "127.0.0.1", "1")
	if late, err := single.OpenPrimary(t.Context(), options, at(server.Addr())); err == nil {
		late.Close()
		t.Error("a replica was accepted")
	}
	single.Drop(d, errMoved)
	wantNotSent(t, d.Do(t.Context(), command("PING")).Err)
	wantNotSent(t, d.DedicatedPipeline(t.Context(), command("PING"))[0].Err)
	server.CLI(t, "REPLICAOF", "NO", "ONE")
	eventuallyWorks(t, d)

	options.Username, options.Password = "locker", "secret"
	do(t, openPrimary(t, options, at(server.Addr())), "PING") // a user that may not ask for the role is accepted
}
