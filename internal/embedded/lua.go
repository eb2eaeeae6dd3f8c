package embedded

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// interpreter runs scripts, all of them in one Lua state. miniredis makes a state for each run, which
// takes three times as long as the run itself.
//
// The state has what the scripts of redlatch and of Redisson use of Redis's Lua: the basic functions,
// string, math, table, and redis.call, pcall and error_reply. Whatever else a script names is an error.
type interpreter struct {
	state   *lua.LState
	globals *lua.LTable
	scripts map[string]*lua.LFunction         // by text
	command func(words []string) (any, error) // carries out a command of a script
}

// sealed lets no script add a global, or read one that is not there. Otherwise a script could see
// what an earlier one has left.
const sealed = `
local function unknown(_, name)
  error("no such global: " .. tostring(name), 2)
end
setmetatable(_G, {__newindex = unknown, __index = unknown})`

func newInterpreter(command func(words []string) (any, error)) *interpreter {
	l := lua.NewState(lua.Options{SkipOpenLibs: true})
	in := &interpreter{command: command, state: l, globals: l.G.Global, scripts: map[string]*lua.LFunction{}}
	for name, open := range map[string]lua.LGFunction{
		lua.BaseLibName: lua.OpenBase, lua.StringLibName: lua.OpenString, lua.MathLibName: lua.OpenMath, lua.TabLibName: lua.OpenTable,
	} {
		l.Push(l.NewFunction(open))
		l.Push(lua.LString(name))
		l.Call(1, 0)
	}
	in.globals.RawSetString("redis", l.SetFuncs(l.NewTable(), map[string]lua.LGFunction{
		"call": in.call, "pcall": in.pcall, "error_reply": in.errorReply,
	}))
	if err := l.DoString(sealed); err != nil {
		panic(err)
	}
	return in
}

// run runs a script. The words are its text, the number of its keys, the keys and the arguments.
func (in *interpreter) run(words []string) (lua.LValue, error) {
	script, err := in.compile(words[0])
	if err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	keys, err := strconv.Atoi(words[1])
	if err != nil || keys < 0 || keys > len(words)-2 {
		return nil, errors.New("ERR the number of keys is wrong")
	}
	in.globals.RawSetString("KEYS", in.table(words[2:2+keys]))
	in.globals.RawSetString("ARGV", in.table(words[2+keys:]))
	in.state.SetTop(0)
	in.state.Push(script)
	if err := in.state.PCall(0, 1, nil); err != nil {
		return nil, fmt.Errorf("ERR %w", err)
	}
	return in.state.Get(1), nil
}

func (in *interpreter) compile(text string) (*lua.LFunction, error) {
	if script, ok := in.scripts[text]; ok {
		return script, nil
	}
	chunk, err := parse.Parse(strings.NewReader(text), "script")
	if err != nil {
		return nil, err
	}
	proto, err := lua.Compile(chunk, "script")
	if err != nil {
		return nil, err
	}
	in.scripts[text] = in.state.NewFunctionFromProto(proto)
	return in.scripts[text], nil
}

func (in *interpreter) table(words []string) *lua.LTable {
	t := in.state.CreateTable(len(words), 0)
	for _, word := range words {
		t.Append(lua.LString(word))
	}
	return t
}

// call is redis.call: an error ends the script.
func (in *interpreter) call(l *lua.LState) int {
	found, err := in.ask(l)
	if err != nil {
		l.RaiseError("%s", err.Error())
	}
	l.Push(found)
	return 1
}

// pcall is redis.pcall: an error is a table with the field err.
func (in *interpreter) pcall(l *lua.LState) int {
	found, err := in.ask(l)
	if err != nil {
		found = field(l, "err", err.Error())
	}
	l.Push(found)
	return 1
}

// errorReply is redis.error_reply.
func (in *interpreter) errorReply(l *lua.LState) int {
	l.Push(field(l, "err", l.CheckString(1)))
	return 1
}

// ask carries out the command on Lua's stack.
func (in *interpreter) ask(l *lua.LState) (lua.LValue, error) {
	words := make([]string, l.GetTop())
	for i := range words {
		words[i] = l.CheckString(i + 1)
	}
	if len(words) == 0 {
		return nil, errors.New("ERR a command without words")
	}
	found, err := in.command(words)
	if err != nil {
		return nil, err
	}
	return toLua(l, found), nil
}
