package connect

import (
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// checkScripts refuses two servers (docs/servers.md). A Garnet runs scripts concurrently by default, and a
// client cannot see whether that default was changed. A Valkey may have been built without Lua, or have
// unloaded it. A server that refuses INFO is accepted.
func checkScripts(about, engines driver.Reply) error {
	known := strings.ToLower(engines.Str)
	switch {
	case strings.Contains(about.Str, "garnet_version:"):
		return fmt.Errorf("%w: the server is a Garnet, whose scripts are not atomic without LuaTransactionMode: two clients could hold one lock; with that mode, use New with a driver of your own", lockerr.ErrUnsupported)
	case strings.Contains(known, "engines_count:") && !strings.Contains(known, ":name=lua,"):
		return fmt.Errorf("%w: the server is a Valkey without Lua: load its module lua", lockerr.ErrUnsupported)
	}
	return nil
}
