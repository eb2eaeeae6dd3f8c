package connect

import (
	"context"
	"fmt"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// checkAtomic refuses a Garnet. By default it runs scripts concurrently, and a client cannot see
// whether that default was changed (docs/servers.md). A server that refuses INFO is accepted.
func checkAtomic(ctx context.Context, d driver.Driver) error {
	reply := d.Do(ctx, driver.Command{Words: []string{"INFO", "server"}})
	if reply.Err != nil || !strings.Contains(reply.Str, "garnet_version:") {
		return nil
	}
	return fmt.Errorf("%w: the server is a Garnet, whose scripts are not atomic without LuaTransactionMode: two clients could hold one lock; with that mode, use New with a driver of your own", lockerr.ErrUnsupported)
}
