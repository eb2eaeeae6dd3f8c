package redlatchtest

import (
	"context"
	"crypto/fips140"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// Server is an embedded Redis server that can be made to fail. It lives until the end of its test.
// Several goroutines may call its methods. The exceptions are Client, Lose and Expire, which can fail the
// test: call these in the goroutine of the test.
type Server struct {
	t       testing.TB
	redis   *miniredis.Miniredis
	network *network

	mu          sync.Mutex
	denials     map[*denial]bool
	operator    *redlatch.Client      // of Lose
	connections map[*server.Peer]bool // of all clients; true for those of the operator
	losing      int                   // calls of Lose under way, which nothing is denied
}

// NewServer starts an empty server. Two servers share no locks.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, redis: miniredis.NewMiniRedis(), network: newNetwork(), denials: map[*denial]bool{}, connections: map[*server.Peer]bool{}}
	s.redis.ClockTTL(true)
	first, err := s.dial() // starts it
	if err != nil {
		t.Fatalf("redlatchtest: start the server: %v", err)
	}
	_ = first.Close()
	s.redis.Server().SetPreHook(s.refuse)
	t.Cleanup(func() {
		s.heal()
		s.redis.Close()
		s.network.wait()
	})
	operator := s.open(s.dial, redlatch.Config{Name: "redlatchtest"})
	s.mu.Lock()
	s.operator = operator
	s.mu.Unlock()
	return s
}

// Client opens a client of the server, which stands for one process. The test fails if cfg is not valid.
// The end of the test closes the client, which releases its holds. Default of Config.Logger: the output of
// the test.
func (s *Server) Client(cfg redlatch.Config) *redlatch.Client {
	s.t.Helper()
	return s.open(s.dialNetwork, cfg)
}

// Dial connects to the server, whatever address is asked for. It is the dialer of a client that the application makes
// itself, such as redis.Options.Dialer of go-redis. All faults apply to its connections. It works in a bubble as well.
// Close the client before the test ends.
func (s *Server) Dial(context.Context, string, string) (net.Conn, error) { return s.dialNetwork() }

// Miniredis returns the server itself. A test can read and change its keys.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.redis }

// closeWithin bounds the end of one client.
const closeWithin = 10 * time.Second

func (s *Server) open(dial func() (net.Conn, error), cfg redlatch.Config) *redlatch.Client {
	s.t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.NewTextHandler(s.t.Output(), nil))
	}
	connection, err := rueidis.Open(s.t.Context(), rueidis.Options{
		Address:        "redlatchtest",
		Dial:           func(context.Context, string) (net.Conn, error) { return dial() },
		Unbuffered:     true, // the connection is a net.Pipe
		CommandTimeout: cfg.CommandTimeout,
	})
	if err != nil {
		s.t.Fatalf("redlatchtest: the client cannot connect, is the server frozen or denying? %v", err)
	}
	s.t.Cleanup(connection.Close)
	client, err := redlatch.New(embedded{connection}, cfg)
	if err != nil {
		s.t.Fatalf("redlatchtest: %v", err)
	}
	s.t.Cleanup(func() {
		s.heal()
		ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
		defer cancel()
		_ = client.Close(ctx) // a lock that was lost is no failure of the test
		if ctx.Err() != nil {
			s.t.Errorf("redlatchtest: a client is not closed after %v: something of it still runs", closeWithin)
		}
	})
	return client
}

// embedded says that the server does not restart.
type embedded struct{ *rueidis.Driver }

var _ driver.Embedded = embedded{}

func (embedded) Embedded() {}

// dial connects to the server directly.
func (s *Server) dial() (conn net.Conn, err error) {
	// The server knows scripts by their SHA-1, which protects nothing.
	fips140.WithoutEnforcement(func() { conn, err = s.redis.Dial() })
	if err != nil {
		return nil, fmt.Errorf("redlatchtest: the server has ended: %w", err)
	}
	return conn, nil
}

// dialNetwork connects to the server through the network, which can be slow or frozen.
func (s *Server) dialNetwork() (net.Conn, error) {
	server, err := s.dial()
	if err != nil {
		return nil, err
	}
	return s.network.connect(server), nil
}
