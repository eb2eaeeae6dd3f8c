package redistest

import (
	"fmt"
	"os"
	"sync"
	"testing"
)

// ends stop what the tests of this binary share.
var (
	endsMutex sync.Mutex
	ends      []func()
)

func atEnd(stop func()) {
	endsMutex.Lock()
	defer endsMutex.Unlock()
	ends = append(ends, stop)
}

// Shared returns one server for all tests of the binary, started at its first
// use and stopped by Main. Its users are not alone: they use names of their
// own (Name), never flush, freeze or kill it.
func Shared(t testing.TB) *Server {
	t.Helper()
	return shared(t, startShared)
}

// SharedCluster is to clusters what Shared is to servers: one for all tests of the
// binary, with three masters and no replica, whose slots stay where they are.
func SharedCluster(t testing.TB) *Cluster {
	t.Helper()
	return shared(t, startSharedCluster)
}

var startShared = sync.OnceValues(func() (*Server, error) {
	s, err := Open()
	atEnd(s.Close)
	return s, err
})

var startSharedCluster = sync.OnceValues(func() (*Cluster, error) {
	c, err := OpenCluster(3, 0)
	atEnd(c.Close)
	return c, err
})

func shared[T any](t testing.TB, start func() (T, error)) T {
	t.Helper()
	one, err := start()
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// Main runs the tests of a package, stops the shared servers and fails the run
// if a goroutine is left over:
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
func Main(m *testing.M) {
	code := m.Run()
	for _, end := range ends {
		end()
	}
	if code == 0 {
		if left := leftOver(); left != "" {
			fmt.Fprintf(os.Stderr, "goroutines are left over after the tests:\n\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}
