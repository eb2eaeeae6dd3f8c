package redistest

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
)

// NewTLSFront encrypts the way to a server until the end of the test: it
// accepts TLS connections at the returned host:port and passes them on.
func NewTLSFront(t testing.TB, upstream string, certificate tls.Certificate) (address string) {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			work.Go(func() { join(client, upstream) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		work.Wait() // the clients of the test have closed their connections by now
	})
	return listener.Addr().String()
}

// join copies in both directions until one side ends.
func join(client net.Conn, upstream string) {
	defer client.Close()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	back := make(chan struct{})
	go func() {
		defer close(back)
		defer client.Close()
		io.Copy(client, server)
	}()
	io.Copy(server, client)
	server.Close()
	<-back
}
