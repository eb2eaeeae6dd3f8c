package redlatch

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// unfit is why a server cannot be used, or nil. A Garnet runs scripts side by side unless it
// is told otherwise, and does not tell a client which (docs/servers.md). A server that does not
// answer INFO is taken as it is.
func unfit(ctx context.Context, d driver.Driver) error {
	reply := d.Do(ctx, driver.Command{Words: []string{"INFO", "server"}})
	if reply.Err != nil || !strings.Contains(reply.Str, "garnet_version:") {
		return nil
	}
	return fmt.Errorf("%w: the server is a Garnet, whose scripts are not atomic without LuaTransactionMode: two clients could hold one lock; with that mode, use New with a driver of your own", ErrUnsupported)
}
