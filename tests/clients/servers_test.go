package clients_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// serve runs an embedded server that answers INFO as it is told.
func serve(t *testing.T, answer func(c *server.Peer, section string)) (url string) {
	t.Helper()
	s := check.Must(memory.Serve("127.0.0.1:0"))
	t.Cleanup(s.Close)
	s.Miniredis().Server().SetPreHook(func(c *server.Peer, command string, args ...string) bool {
		if command != "INFO" {
			return false
		}
		answer(c, args[0])
		return true
	})
	return "redis://" + s.Addr()
}

// garnet runs a server that says that it is a Garnet.
func garnet(t *testing.T) (url string) {
	return serve(t, func(c *server.Peer, _ string) {
		c.WriteBulk("# Server\r\ngarnet_version:1.0.84\r\nredis_version:7.4.3\r\n")
	})
}

func TestOpenRefusesAServerWhoseScriptsAreNotAtomic(t *testing.T) {
	t.Parallel()
	_, err := redlatch.Open(t.Context(), garnet(t), redlatch.Config{})
	check.Is(t, "Open", err, redlatch.ErrUnsupported)
	if err != nil && !strings.Contains(err.Error(), "not atomic") {
		t.Error(err)
	}
}

// Goal: a Valkey without Lua is refused when a client is opened, and one with Lua is taken. Method: the answers of
// Valkey 9.1.2, before MODULE UNLOAD lua and after it.
func TestOpenRefusesAServerWithoutLua(t *testing.T) {
	t.Parallel()
	for engines, want := range map[string]error{
		"engines_count:0\r\nengines_total_used_memory:0\r\n":                                            redlatch.ErrUnsupported,
		"engines_count:1\r\nengine_0:name=HELLO,module=hello,abi_version=4\r\n":                         redlatch.ErrUnsupported,
		"engines_count:1\r\nengine_0:name=LUA,module=lua,abi_version=4,used_memory=69632\r\n":           nil,
		"engines_count:2\r\nengine_0:name=A,module=a\r\nengine_1:name=LUA,module=lua,abi_version=4\r\n": nil,
	} {
		url := serve(t, func(c *server.Peer, section string) {
			if section == "server" {
				c.WriteBulk("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2\r\n")
				return
			}
			c.WriteBulk("# Scripting Engines\r\n" + engines)
		})
		client, err := redlatch.Open(t.Context(), url, redlatch.Config{})
		if !errors.Is(err, want) {
			t.Errorf("with %q: %v", engines, err)
		}
		if err == nil {
			client.Close(t.Context())
		}
	}
}

func TestOpenTakesAServerThatDoesNotTellWhatItIs(t *testing.T) {
	t.Parallel()
	c := fixture.Open(t, serve(t, func(c *server.Peer, _ string) {
		c.WriteError("NOPERM this user has no permissions to run the 'info' command")
	}), redlatch.Config{})
	if err := check.Must(c.Mutex("job").Lock(t.Context())).Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// strict is a server that refuses keys which a script does not declare, as ElastiCache Serverless does.
type strict struct{ driver.Driver }

const strictly = `local real, declared = redis, {}
for _, key in ipairs(KEYS) do declared[key] = true end
local function refusal(name, key)
  local keyless = name == 'PUBLISH' or name == 'SPUBLISH' or name == 'TIME'
  return not keyless and not declared[key] and {err = 'ERR script tried accessing undeclared key, key: ' .. key}
end
local redis = {
  error_reply = real.error_reply,
  call = function(...)
    if refusal(...) then error(refusal(...).err) end
    return real.call(...)
  end,
  pcall = function(...) return refusal(...) or real.pcall(...) end,
}
`

func (s strict) Do(ctx context.Context, command driver.Command) driver.Reply {
	return s.Pipeline(ctx, command)[0]
}

func (s strict) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	commands = slices.Clone(commands)
	for i, c := range commands {
		switch c.Words[0] {
		case "EVALSHA": // the source comes next
			commands[i] = driver.Command{Words: []string{"EVALSHA", strings.Repeat("0", 40), "0"}}
		case "EVAL":
			commands[i].Words = slices.Clone(c.Words)
			commands[i].Words[1] = strictly + c.Words[1]
		}
	}
	return s.Driver.Pipeline(ctx, commands...)
}

// Goal: where undeclared keys are refused, every lock works but the read-write lock, and that says why at its first use.
func TestServersThatWantKeysToBeDeclared(t *testing.T) {
	t.Parallel()
	d := check.Must(rueidis.Open(t.Context(), rueidis.Options{Address: redistest.Shared(t).Addr()}))
	t.Cleanup(d.Close)
	c := check.Must(redlatch.New(strict{d}, redlatch.Config{}))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	name := redistest.Name(t)
	for _, lock := range []redlatch.Lock{c.Mutex(name + "m"), c.FairMutex(name + "f")} {
		for range 2 {
			if err := check.Must(lock.Lock(t.Context(), redlatch.WithFencing())).Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
	if err := fixture.PermitsOf(t, c, name+"p", 2).AddPermits(t.Context(), 1); err != nil {
		t.Error(err)
	}
	rw := c.RWMutex(name + "rw")
	for side, lock := range map[string]func(context.Context, ...redlatch.LockOption) (*redlatch.Hold, error){"write": rw.TryLock, "read": rw.TryRLock} {
		_, err := lock(t.Context())
		check.Is(t, side, err, redlatch.ErrUnsupported)
		if err != nil && !strings.Contains(err.Error(), "wants all keys of a script to be declared") {
			t.Error(err)
		}
	}
}
