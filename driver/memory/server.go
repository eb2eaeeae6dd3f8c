package memory

import (
	"crypto/fips140"
	"fmt"
	"net"

	"github.com/alicebob/miniredis/v2"
)

// Server is a memory server that also other processes can reach, by TCP.
type Server struct {
	server *miniredis.Miniredis
	addr   string
}

// Serve starts an empty server on a TCP address such as "127.0.0.1:0". There
// is no password: keep to the loopback interface.
func Serve(address string) (*Server, error) {
	server := newServer()
	var err error
	unenforced(func() { err = server.StartAddr(address) })
	if err != nil {
		return nil, fmt.Errorf("serve memory server: %w", err)
	}
	return &Server{server: server, addr: server.Addr()}, nil
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return s.addr }

// Miniredis is the server itself, for tests that look behind the scenes.
func (s *Server) Miniredis() *miniredis.Miniredis { return s.server }

// Close ends the server, its connections and all data. It is idempotent.
func (s *Server) Close() { s.server.Close() }

// dial connects to a server of this process.
func dial(server *miniredis.Miniredis) (conn net.Conn, err error) {
	unenforced(func() { conn, err = server.Dial() })
	return conn, err
}

// unenforced starts goroutines of the server, to which the rules of FIPS 140 do not apply: it
// knows scripts by their SHA-1, which protects nothing.
func unenforced(start func()) { fips140.WithoutEnforcement(start) }
