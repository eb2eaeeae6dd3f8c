package embedded

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch/driver"
)

// toLua is the reply to a command, as a script sees it: nil is false.
func toLua(l *lua.LState, found any) lua.LValue {
	switch v := found.(type) {
	case nil:
		return lua.LFalse
	case int:
		return lua.LNumber(v)
	case string:
		return lua.LString(v)
	case server.Simple:
		return field(l, "ok", string(v))
	case []any:
		t := l.CreateTable(len(v), 0)
		for _, one := range v {
			t.Append(toLua(l, one))
		}
		return t
	}
	panic(fmt.Sprintf("the embedded server: a reply of type %T", found))
}

// fromLua is what a script returned, as a client sees it: numbers are cut to integers, false is nil,
// and an array ends before its first nil.
func fromLua(v lua.LValue) driver.Reply {
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
		if text, ok := v.RawGetString("err").(lua.LString); ok {
			return driver.Reply{Err: &driver.ServerError{Message: string(text)}}
		}
		if text, ok := v.RawGetString("ok").(lua.LString); ok {
			return driver.Reply{Str: string(text)}
		}
		r := driver.Reply{Array: []driver.Reply{}}
		for i := 1; v.RawGetInt(i) != lua.LNil; i++ {
			r.Array = append(r.Array, fromLua(v.RawGetInt(i)))
		}
		return r
	}
	return driver.Reply{IsNil: true}
}

// field is a table with one field.
func field(l *lua.LState, name, text string) *lua.LTable {
	t := l.CreateTable(0, 1)
	t.RawSetString(name, lua.LString(text))
	return t
}
