package embedded

import (
	"sync"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"

	"github.com/redlatch/redlatch/internal/protocol"
)

// quickened is a server whose scripts run in one Lua state.
type quickened struct {
	*miniredis.Miniredis
	scripts *interpreter
	wire    *wire // of the scripts' commands

	mu    sync.Mutex
	texts map[string]string // by digest: those that the server knows
}

// Quicken has a started server run its scripts in one Lua state. It is for servers that only clients
// of redlatch ask: no script calls another one, or is part of a transaction. It is undone by another
// hook, and by Miniredis.SetError.
func Quicken(m *miniredis.Miniredis) {
	q := &quickened{Miniredis: m, wire: newWire(m), texts: map[string]string{}}
	q.scripts = newInterpreter(q.wire.ask)
	q.becomeNested()
	m.Server().SetPreHook(q.intercept)
}

// becomeNested gives the wire the context of a command within a script. Such a command does not lock
// the server: it is locked for as long as the script runs.
func (q *quickened) becomeNested() {
	q.Server().SetPreHook(func(peer *server.Peer, command string, _ ...string) bool {
		if command == "PING" {
			q.wire.peer.Ctx = peer.Ctx
		}
		return false
	})
	if _, err := newWire(q.Miniredis).ask([]string{"EVAL", "return redis.call('PING')", "0"}); err != nil || q.wire.peer.Ctx == nil {
		panic("the embedded server: a script without a context")
	}
}

// intercept runs the scripts that are asked for by a digest.
func (q *quickened) intercept(peer *server.Peer, command string, words ...string) bool {
	switch command {
	case "EVAL": // miniredis runs it, and knows it from now on
		q.mu.Lock()
		q.texts[protocol.Digest(words[0])] = words[0]
		q.mu.Unlock()
	case "SCRIPT":
		q.mu.Lock()
		clear(q.texts)
		q.mu.Unlock()
	case "EVALSHA":
		q.mu.Lock()
		text, known := q.texts[words[0]]
		q.mu.Unlock()
		if known {
			q.run(peer, append([]string{text}, words[1:]...))
		}
		return known
	}
	return false
}

func (q *quickened) run(peer *server.Peer, words []string) {
	q.Lock()
	defer q.Unlock()
	found, err := q.scripts.run(words)
	if err != nil {
		peer.WriteError(err.Error())
		return
	}
	write(peer, found)
}

// write writes what a script returned.
func write(peer *server.Peer, v lua.LValue) {
	switch r := fromLua(v); {
	case r.Err != nil:
		peer.WriteError(r.Err.Error())
	case r.IsNil:
		peer.WriteNull()
	case r.Array != nil:
		peer.WriteLen(len(r.Array))
		for i := range r.Array {
			write(peer, v.(*lua.LTable).RawGetInt(i+1))
		}
	case v.Type() == lua.LTNumber || v.Type() == lua.LTBool:
		peer.WriteInt(int(r.Int))
	default:
		peer.WriteBulk(r.Str)
	}
}
