package memory

import (
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// registry holds the named servers of this process.
var registry = struct {
	sync.Mutex
	servers map[string]*shared
}{servers: make(map[string]*shared)}

// shared is a named server and the number of its users, guarded by registry.
type shared struct {
	server *miniredis.Miniredis
	users  int
}

// lease is the right of one user to a server.
type lease struct {
	server *miniredis.Miniredis
	name   string
	once   sync.Once
}

// rent gives a lease of the named server, or of a new one without a name.
func rent(name string) *lease {
	if name == "" {
		return &lease{server: newServer()}
	}
	registry.Lock()
	defer registry.Unlock()
	s := registry.servers[name]
	if s == nil {
		s = &shared{server: newServer()}
		registry.servers[name] = s
	}
	s.users++
	return &lease{server: s.server, name: name}
}

// end gives the lease back; the last one closes the server.
func (l *lease) end() {
	l.once.Do(func() {
		if l.name == "" || release(l.name) {
			l.server.Close()
		}
	})
}

// release takes one user from a named server and tells whether it was the last.
func release(name string) bool {
	registry.Lock()
	defer registry.Unlock()
	s := registry.servers[name]
	s.users--
	if s.users > 0 {
		return false
	}
	delete(registry.servers, name)
	return true
}

// newServer makes a server whose keys expire by the clock. It serves nobody yet.
func newServer() *miniredis.Miniredis {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	return server
}
