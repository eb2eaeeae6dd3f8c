// Package embedded makes the embedded server fast, for tests that run many scripts. Server is one
// without a network, for the exploration and the simulation. Quicken is for one with a network. Spoiled
// is a connection to one whose commands get lost.
package embedded

import (
	"github.com/alicebob/miniredis/v2"

	"github.com/redlatch/redlatch/driver"
)

// Server is an embedded server without a network. It carries out one command at a time, and its keys
// can be read and replaced. It is not for several goroutines at a time.
type Server struct {
	*miniredis.Miniredis
	scripts *interpreter
	wire    *wire
}

// New starts a server, which lives until Close.
func New() (*Server, error) {
	s := &Server{Miniredis: miniredis.NewMiniRedis()}
	conn, err := s.Dial() // which starts it
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	s.wire = newWire(s.Miniredis)
	s.scripts = newInterpreter(s.wire.ask)
	return s, nil
}

// Do carries out a command.
func (s *Server) Do(words ...string) driver.Reply {
	if words[0] == "EVAL" {
		found, err := s.scripts.run(words[1:])
		if err != nil {
			return failed(err)
		}
		return fromLua(found)
	}
	found, err := s.wire.ask(words)
	if err != nil {
		return failed(err)
	}
	return reply(found)
}

func failed(err error) driver.Reply {
	return driver.Reply{Err: &driver.ServerError{Message: err.Error()}}
}

func reply(found any) driver.Reply {
	switch v := found.(type) {
	case int:
		return driver.Reply{Int: int64(v)}
	case string:
		return driver.Reply{Str: v}
	case []any:
		r := driver.Reply{Array: []driver.Reply{}}
		for _, one := range v {
			r.Array = append(r.Array, reply(one))
		}
		return r
	}
	return driver.Reply{IsNil: true}
}
