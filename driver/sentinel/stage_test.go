package sentinel_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/driver/sentinel"
)

// stage is in-memory servers by name: primaries, and sentinels that say what they are
// told to.
type stage struct {
	servers map[string]*miniredis.Miniredis

	mu     sync.Mutex
	dials  map[string]int
	frozen map[string]chan struct{} // closed when the freeze ends
	words  map[string]words
}

// words are what a sentinel says.
type words struct {
	primary string
	epoch   int
	others  []string
}

func newStage(t *testing.T, names ...string) *stage {
	t.Helper()
	s := &stage{
		servers: map[string]*miniredis.Miniredis{}, dials: map[string]int{},
		frozen: map[string]chan struct{}{}, words: map[string]words{},
	}
	for _, name := range names {
		m := miniredis.NewMiniRedis()
		conn, err := m.Dial() // which starts the server
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		m.Set("name", name)
		m.Server().SetPreHook(func(*server.Peer, string, ...string) bool { s.hold(name); return false })
		m.Server().Register("SENTINEL", func(c *server.Peer, _ string, args []string) { s.speak(name, c, args) })
		s.servers[name] = m
	}
	t.Cleanup(func() {
		for name, m := range s.servers {
			s.thaw(name)
			m.Close()
		}
	})
	return s
}

// say has a sentinel name a primary.
func (s *stage) say(name, primary string, epoch int, others ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words[name] = words{primary, epoch, others}
}

func (s *stage) freeze(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen[name] = make(chan struct{})
}

func (s *stage) thaw(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.frozen[name]; c != nil {
		close(c)
		delete(s.frozen, name)
	}
}

// hold keeps a command from being carried out while the server is frozen.
func (s *stage) hold(name string) {
	s.mu.Lock()
	frozen := s.frozen[name]
	s.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
}

// speak carries out a SENTINEL command.
func (s *stage) speak(name string, c *server.Peer, args []string) {
	s.mu.Lock()
	w := s.words[name]
	s.mu.Unlock()
	switch {
	case len(args) != 2 || args[1] != "locks" || w.primary == "":
		c.WriteNull()
	case args[0] == "GET-MASTER-ADDR-BY-NAME":
		host, port, _ := net.SplitHostPort(w.primary)
		c.WriteStrings([]string{host, port})
	case args[0] == "MASTER":
		c.WriteStrings([]string{"name", "locks", "config-epoch", fmt.Sprint(w.epoch)})
	case args[0] == "SENTINELS":
		c.WriteLen(len(w.others))
		for _, other := range w.others {
			host, port, _ := net.SplitHostPort(other)
			c.WriteStrings([]string{"ip", host, "port", port})
		}
	}
}

var errNobody = errors.New("nobody there")

func (s *stage) dial(_ context.Context, address string) (net.Conn, error) {
	s.mu.Lock()
	s.dials[address]++
	s.mu.Unlock()
	m := s.servers[address]
	if m == nil {
		return nil, errNobody
	}
	return m.Dial()
}

// dialled is how often an address was connected to.
func (s *stage) dialled(address string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dials[address]
}

const timeout = 3 * time.Second

// open connects by some of the sentinels.
func (s *stage) open(t *testing.T, sentinels ...string) driver.Driver {
	t.Helper()
	return open(t, sentinel.Options{Sentinels: sentinels, Master: "locks", Node: rueidis.Options{Dial: s.dial, CommandTimeout: timeout}})
}

// wantServer checks which primary answers.
func wantServer(t *testing.T, d driver.Driver, want string) {
	t.Helper()
	if got := do(t, d, "GET", "name").Str; got != want {
		t.Errorf("the primary is %s, want %s", got, want)
	}
}

// bubble runs a test with two primaries and three sentinels, which name the first.
func bubble(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, "a:1", "b:1", "s:1", "s:2", "s:3")
		for _, name := range []string{"s:1", "s:2", "s:3"} {
			s.say(name, "a:1", 1)
		}
		test(t, s)
	})
}
