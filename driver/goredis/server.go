package goredis

import (
	"context"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

// runID identifies the server process that commands go to. It is empty if the server does not say,
// because the user may not ask or because it does not answer, and for a server of a cluster.
func (n *node) runID(ctx context.Context) string {
	if !n.alone {
		return ""
	}
	reply := n.Do(ctx, driver.Command{Words: []string{"INFO", "server"}})
	for line := range strings.Lines(reply.Str) {
		if id, ok := strings.CutPrefix(line, "run_id:"); ok {
			return strings.TrimSpace(id)
		}
	}
	return ""
}
