package single

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// ErrNoTLS and ErrHungUp are documented in package rueidis.
var (
	ErrNoTLS  = errors.New("no TLS handshake with the server")
	ErrHungUp = errors.New("the server hung up before its first reply")
)

// errUnmapped is an address that AddressMap could not translate.
var errUnmapped = errors.New("AddressMap returned no host:port")

// connect makes one connection to an address, encrypted if the options say so.
func (o Options) connect(ctx context.Context, address string) (net.Conn, error) {
	if o.AddressMap != nil {
		mapped, err := call.Run(ctx, o.aside, "AddressMap", func() (string, error) { return o.AddressMap(address), nil }, func(string) {})
		if err != nil {
			return nil, err
		}
		if _, _, err := net.SplitHostPort(mapped); err != nil {
			return nil, fmt.Errorf("%w for %s, but %q", errUnmapped, address, mapped)
		}
		address = mapped
	}
	conn, err := call.Run(ctx, o.aside, "Dial", func() (net.Conn, error) { return o.Dial(ctx, address) }, closeLate)
	if err != nil || o.TLS == nil {
		return conn, err
	}
	encrypted, err := call.Run(ctx, o.aside, "TLS", func() (net.Conn, error) { return encrypt(ctx, conn, o.TLS, address) }, closeLate)
	if err != nil {
		conn.Close() // also if a function of the TLS configuration panicked
	}
	if _, plain := errors.AsType[tls.RecordHeaderError](err); plain || err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ErrNoTLS, err)
	}
	return encrypted, err
}

// closeLate closes a connection that comes when nobody waits for it any more.
func closeLate(conn net.Conn) { conn.Close() }

// encrypt makes the handshake.
func encrypt(ctx context.Context, conn net.Conn, config *tls.Config, address string) (net.Conn, error) {
	if config.ServerName == "" && !config.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			host = address
		}
		config = config.Clone()
		config.ServerName = host
	}
	encrypted := tls.Client(conn, config)
	return encrypted, encrypted.HandshakeContext(ctx)
}
