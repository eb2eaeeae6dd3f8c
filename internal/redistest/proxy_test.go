package redistest_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"github.com/redlatch/redlatch/internal/redistest"
)

// send writes requests in one go.
func send(t *testing.T, conn net.Conn, requests ...string) {
	t.Helper()
	redistest.Must(io.WriteString(conn, strings.Join(requests, "")))
}

// expect reads exactly these bytes.
func expect(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	got := make([]byte, len(want))
	n, err := io.ReadFull(conn, got)
	if err != nil || string(got) != want {
		t.Fatalf("read %q, %v, want %q", got[:n], err, want)
	}
}

// expectEnd reads the end of the connection.
func expectEnd(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	got, err := io.ReadAll(conn)
	if len(got) > 0 || errors.Is(err, syscall.ETIMEDOUT) {
		t.Fatalf("read %q, %v, want the end", got, err)
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		t.Fatal("the connection has not ended")
	}
}

// expectSilence makes sure that nothing arrives for a while.
func expectSilence(t *testing.T, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	var network net.Error
	if n, err := conn.Read(make([]byte, 1)); n > 0 || !errors.As(err, &network) || !network.Timeout() {
		t.Fatalf("read %d bytes, %v, want silence", n, err)
	}
}

var ping = proto.Strings("PING")

const pong = "+PONG\r\n"

func TestProxyPassesEverything(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	a, b := dial(t, proxy.Addr()), dial(t, proxy.Addr())
	send(t, a, ping, ping)
	send(t, b, ping)
	expect(t, a, pong+pong)
	expect(t, b, pong)
	b.Close()
	send(t, a, ping)
	expect(t, a, pong)
}

// TestProxyDropsTheRepliesItIsAimedAt: those before arrive, the command is
// carried out, nothing behind it is, and afterwards all is well.
func TestProxyDropsTheRepliesItIsAimedAt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	hit, behind := redistest.Name(t), redistest.Name(t)
	proxy.DropReplies(2, redistest.Containing(hit))
	for range 2 {
		conn := dial(t, proxy.Addr())
		send(t, conn, proto.Strings("ECHO", "before"), proto.Strings("INCR", hit), proto.Strings("INCR", behind))
		expect(t, conn, "$6\r\nbefore\r\n")
		expectEnd(t, conn)
	}
	if got := server.CLI(t, "GET", hit); got != "2" {
		t.Errorf("the commands were carried out %v times, want 2", got)
	}
	if got := server.CLI(t, "GET", behind); got != nil {
		t.Errorf("the ones behind were carried out %v times", got)
	}
	conn := dial(t, proxy.Addr())
	send(t, conn, proto.Strings("INCR", hit))
	expect(t, conn, ":3\r\n")
}

func TestProxyDropsTheRequestsItIsAimedAt(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	hit := redistest.Name(t)
	proxy.DropRequests(1, redistest.Containing(hit))
	conn := dial(t, proxy.Addr())
	send(t, conn, ping)
	expect(t, conn, pong)
	send(t, conn, proto.Strings("INCR", hit))
	expectEnd(t, conn)
	if got := server.CLI(t, "GET", hit); got != nil {
		t.Errorf("the command was carried out %v times", got)
	}
	conn = dial(t, proxy.Addr())
	send(t, conn, proto.Strings("INCR", hit))
	expect(t, conn, ":1\r\n")
}

func TestProxyCutsAllConnections(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	conns := []net.Conn{dial(t, proxy.Addr()), dial(t, proxy.Addr())}
	for _, conn := range conns {
		send(t, conn, ping)
		expect(t, conn, pong)
	}
	proxy.Cut()
	for _, conn := range conns {
		expectEnd(t, conn)
	}
	again := dial(t, proxy.Addr())
	send(t, again, ping)
	expect(t, again, pong)
}

func TestProxyIsABlackHoleForAWhile(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := redistest.NewProxy(t, server.Addr())
	channel := redistest.Name(t)
	before := dial(t, proxy.Addr())
	send(t, before, proto.Strings("SUBSCRIBE", channel))
	expect(t, before, fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(channel), channel))
	proxy.Blackhole(true)
	after := dial(t, proxy.Addr())
	send(t, after, ping)
	server.CLI(t, "PUBLISH", channel, "hello")
	expectSilence(t, after)
	expectSilence(t, before)
	proxy.Blackhole(false)
	expect(t, after, pong)
	expect(t, before, fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$5\r\nhello\r\n", len(channel), channel))
	proxy.Blackhole(true)
	send(t, after, ping) // held back until the end of the test, which must not wait
}

func TestProxyDelaysRequests(t *testing.T) {
	t.Parallel()
	const delay = 100 * time.Millisecond
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	conn := dial(t, proxy.Addr())
	proxy.Delay(delay)
	begin := time.Now()
	send(t, conn, ping)
	expect(t, conn, pong)
	if took := time.Since(begin); took < delay {
		t.Errorf("took %v, want %v at least", took, delay)
	}
	proxy.Delay(time.Hour)
	proxy.Delay(0)
	send(t, conn, ping)
	expect(t, conn, pong)
	proxy.Delay(time.Hour)
	send(t, conn, ping) // the end of the test must not wait for it
}

// A child between fork and exec has copies of the process's sockets.
func TestProxyRefusesBesideForks(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	var forks sync.WaitGroup
	defer forks.Wait()
	over := make(chan struct{})
	defer close(over)
	for range 2 {
		forks.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
					exec.Command("true").Run()
				}
			}
		})
	}
	for range 200 {
		proxy.Refuse(t, true)
		if _, err := net.Dial("tcp", proxy.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("error %v, want a refusal", err)
		}
		proxy.Refuse(t, false)
	}
}

func TestProxyRefusesNewConnections(t *testing.T) {
	t.Parallel()
	proxy := redistest.NewProxy(t, redistest.Shared(t).Addr())
	conn := dial(t, proxy.Addr())
	send(t, conn, ping)
	expect(t, conn, pong)
	proxy.Refuse(t, true)
	if _, err := net.Dial("tcp", proxy.Addr()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want a refusal", err)
	}
	send(t, conn, ping)
	expect(t, conn, pong)
	proxy.Refuse(t, false)
	again := dial(t, proxy.Addr())
	send(t, again, ping)
	expect(t, again, pong)
}
