package redistest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the server of this test binary.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

// Shared returns one server for all tests of the binary, started at its first
// use and stopped by Main. Its users are not alone: they use names of their
// own (Name), never flush, freeze or kill it.
func Shared(t testing.TB) *Server {
	t.Helper()
	shared.once.Do(func() { shared.server, shared.err = start() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// sharedCluster is the cluster of this test binary.
var sharedCluster struct {
	once    sync.Once
	cluster *Cluster
	err     error
}

// SharedCluster is to clusters what Shared is to servers: one for all tests of the
// binary, with three masters and no replica, whose slots stay where they are.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	sharedCluster.once.Do(func() {
		sharedCluster.cluster = &Cluster{masters: 3}
		sharedCluster.err = sharedCluster.cluster.start(3)
	})
	if sharedCluster.err != nil {
		t.Fatal(sharedCluster.err)
	}
	return sharedCluster.cluster
}

// Main runs the tests of a package, stops the shared servers and fails the run
// if a goroutine is left over:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.stop()
	}
	if sharedCluster.cluster != nil {
		sharedCluster.cluster.stop()
	}
	if code == 0 {
		if left := leftOver(); left != "" {
			fmt.Fprintf(os.Stderr, "goroutines are left over after the tests:\n\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}
