package explore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// epoch is what the server's clock always says. Time passes by moving everything else towards
// the past (keys.after), so that two states that differ in their date alone are one.
var epoch = time.UnixMilli(1_700_000_000_000)

// request is a script with its keys and arguments, as somebody may send it.
type request struct {
	id          int32
	op          op
	who         int // client or peer
	stay        uint8
	source      string // as it is shipped
	text        string // as it is run
	keys, words []string
	mirror      int32 // the same of another client
}

// outcome is what a request does to some keys.
type outcome struct {
	keys  *keys
	reply driver.Reply
	said  []string // "channel payload"
	token int      // what the counter of tokens said, if there is one

	read   bool   // the following is known
	answer answer // what the reply says
	fault  string // what is wrong with it
}

// server carries out requests on keys. Both are interned, so each pair is run once.
type server struct {
	mini      *miniredis.Miniredis
	peer      *miniserver.Peer
	buffer    bytes.Buffer
	lua       *lua.LState
	mutations []Mutation
	mutated   int

	half int // of the clients, which are like the others; 0 if they are not
	swap *strings.Replacer

	loaded   *keys
	said     []string
	programs map[string]*lua.LFunction
	texts    map[string]string // as they are run, by the shipped text
	contents map[string]*keys
	all      []*keys
	requests []*request
	known    map[string]*request // by all that they are
	outcomes map[[2]int32]*outcome
	later    map[[2]int32]*keys
}

// Mutation is a change to one script: of the first occurrence of Old to New.
type Mutation struct{ Script, Old, New string }

func newServer(mutations []Mutation) (*server, error) {
	s := &server{
		mini: miniredis.NewMiniRedis(), lua: lua.NewState(), mutations: mutations,
		programs: map[string]*lua.LFunction{}, texts: map[string]string{}, contents: map[string]*keys{},
		requests: []*request{nil}, known: map[string]*request{}, outcomes: map[[2]int32]*outcome{}, later: map[[2]int32]*keys{},
	}
	conn, err := s.mini.Dial() // which starts it
	if err != nil {
		return nil, err
	}
	_ = conn.Close()
	s.mini.SetTime(epoch)
	s.peer = miniserver.NewPeer(bufio.NewWriter(&s.buffer))
	api := s.lua.NewTable()
	api.RawSetString("call", s.lua.NewFunction(func(l *lua.LState) int { return s.command(l, true) }))
	api.RawSetString("pcall", s.lua.NewFunction(func(l *lua.LState) int { return s.command(l, false) }))
	api.RawSetString("error_reply", s.lua.NewFunction(func(l *lua.LState) int {
		l.Push(failed(l, l.CheckString(1)))
		return 1
	}))
	s.lua.SetGlobal("redis", api)
	s.intern(nil)
	return s, nil
}

func (s *server) close() {
	s.lua.Close()
	s.mini.Close()
}

// spy is a server that knows no script and so is told its text.
type spy struct {
	driver.Driver
	words []string
}

func (*spy) CommandTimeout() time.Duration { return 0 }

func (*spy) Do(context.Context, driver.Command) driver.Reply {
	return driver.Reply{Err: &driver.ServerError{Message: "NOSCRIPT"}}
}

func (s *spy) Pipeline(_ context.Context, commands ...driver.Command) []driver.Reply {
	s.words = commands[0].Words
	return make([]driver.Reply, 1)
}

// request enters a call of package script.
func (s *server) request(op op, who int, stay uint8, call script.Call) *request {
	var caught spy
	if _, err := script.NewRunner(&caught, time.Hour).Run(context.Background(), call); err != nil {
		panic(err)
	}
	var count int
	fmt.Sscan(caught.words[2], &count)
	return s.enter(op, who, stay, caught.words[1], caught.words[3:3+count], caught.words[3+count:])
}

// enter is request for any text.
func (s *server) enter(op op, who int, stay uint8, text string, keys, words []string) *request {
	if s.texts[text] == "" {
		s.texts[text] = s.mutate(text)
	}
	all := fmt.Sprint(op, who, stay, s.texts[text], keys, words)
	if s.known[all] == nil {
		s.known[all] = &request{
			id: int32(len(s.requests)), op: op, who: who, stay: stay,
			source: text, text: s.texts[text], keys: keys, words: words,
		}
		s.requests = append(s.requests, s.known[all])
	}
	return s.known[all]
}

func (s *server) mutate(text string) string {
	for _, m := range s.mutations {
		if strings.Contains(text, "-- "+m.Script+":") && strings.Contains(text, m.Old) {
			text = strings.Replace(text, m.Old, m.New, 1)
			s.mutated++
		}
	}
	return text
}

// run carries out a request.
func (s *server) run(k *keys, r *request) *outcome {
	key := [2]int32{k.id, r.id}
	if done := s.outcomes[key]; done != nil {
		return done
	}
	if s.loaded != k {
		k.load(s.mini)
	}
	s.said = nil
	done := &outcome{reply: s.eval(r)}
	done.said = s.said
	items := dump(s.mini)
	done.token = recount(items)
	done.keys = s.intern(items)
	s.loaded = done.keys
	if done.token > 1 {
		s.loaded = nil
	}
	s.outcomes[key] = done
	return done
}

// after is the keys when some time has passed.
func (s *server) after(k *keys, ms int32) *keys {
	key := [2]int32{k.id, ms}
	if s.later[key] == nil {
		s.later[key] = s.intern(k.after(ms))
	}
	return s.later[key]
}

func (s *server) intern(items []item) *keys {
	text := encode(items)
	if k := s.contents[text]; k != nil {
		return k
	}
	k := &keys{id: int32(len(s.all)), items: items}
	s.all = append(s.all, k)
	s.contents[text] = k
	return k
}

func (s *server) eval(r *request) driver.Reply {
	program := s.programs[r.text]
	if program == nil {
		chunk, err := parse.Parse(strings.NewReader(r.text), "script")
		if err != nil {
			return driver.Reply{Err: err}
		}
		proto, err := lua.Compile(chunk, "script")
		if err != nil {
			return driver.Reply{Err: err}
		}
		program = s.lua.NewFunctionFromProto(proto)
		s.programs[r.text] = program
	}
	s.lua.SetGlobal("KEYS", list(s.lua, r.keys))
	s.lua.SetGlobal("ARGV", list(s.lua, r.words))
	s.lua.Push(program)
	if err := s.lua.PCall(0, 1, nil); err != nil {
		return driver.Reply{Err: &driver.ServerError{Message: err.Error()}}
	}
	defer s.lua.Pop(1)
	return reply(s.lua.Get(-1))
}

func list(l *lua.LState, words []string) *lua.LTable {
	t := l.CreateTable(len(words), 0)
	for _, word := range words {
		t.Append(lua.LString(word))
	}
	return t
}

// command is redis.call, and redis.pcall if it does not raise errors.
func (s *server) command(l *lua.LState, raise bool) int {
	words := make([]string, l.GetTop())
	for i := range words {
		words[i] = l.CheckString(i + 1)
	}
	if words[0] == "PUBLISH" {
		s.said = append(s.said, words[1]+" "+words[2])
		l.Push(lua.LNumber(0))
		return 1
	}
	s.mini.Server().Dispatch(s.peer, words)
	s.peer.Flush()
	found, err := miniserver.ParseReply(bufio.NewReaderSize(&s.buffer, 64))
	s.buffer.Reset()
	switch {
	case err != nil && raise:
		l.RaiseError("%s", err.Error())
	case err != nil:
		l.Push(failed(l, err.Error()))
	default:
		l.Push(value(l, found))
	}
	return 1
}

func failed(l *lua.LState, message string) *lua.LTable {
	t := l.NewTable()
	t.RawSetString("err", lua.LString(message))
	return t
}

// value is a reply as a script sees it.
func value(l *lua.LState, found any) lua.LValue {
	switch v := found.(type) {
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case miniserver.Simple:
		t := l.NewTable()
		t.RawSetString("ok", lua.LString(v))
		return t
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, one := range v {
			t.Append(value(l, one))
		}
		return t
	}
	return lua.LFalse
}

// reply is a value of a script as a client sees it.
func reply(v lua.LValue) driver.Reply {
	switch v := v.(type) {
	case lua.LNumber:
		return driver.Reply{Int: int64(v)}
	case lua.LString:
		return driver.Reply{Str: string(v)}
	case lua.LBool:
		if v {
			return driver.Reply{Int: 1}
		}
	case *lua.LTable:
		if err := v.RawGetString("err"); err != lua.LNil {
			return driver.Reply{Err: &driver.ServerError{Message: err.String()}}
		}
		var r driver.Reply
		r.Array = []driver.Reply{}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			r.Array = append(r.Array, reply(v.RawGetInt(i)))
		}
		return r
	}
	return driver.Reply{IsNil: true}
}
