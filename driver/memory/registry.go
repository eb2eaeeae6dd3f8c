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

// shared is a server and the number of its users, guarded by registry.
type shared struct {
	server *miniredis.Miniredis
	users  int
}

// rent gives one user the named server, or one of its own without a name. The last user to
// call end closes the server.
func rent(name string) (server *miniredis.Miniredis, end func()) {
	registry.Lock()
	defer registry.Unlock()
	s := registry.servers[name]
	if s == nil {
		s = &shared{server: newServer()}
		if name != "" {
			registry.servers[name] = s
		}
	}
	s.users++
	return s.server, sync.OnceFunc(func() {
		registry.Lock()
		s.users--
		unused := s.users == 0
		if unused {
			delete(registry.servers, name)
		}
		registry.Unlock()
		if unused {
			s.server.Close()
		}
	})
}

// newServer makes a server whose keys expire by the clock. It serves nobody yet.
func newServer() *miniredis.Miniredis {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	return server
}
