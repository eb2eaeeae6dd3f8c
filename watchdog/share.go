package watchdog

import (
	"slices"

	"github.com/redlatch/redlatch/internal/protocol"
)

// serves says whether the watchdog id is the one among alive that serves a client. A watchdog always
// counts itself alive.
func serves(id string, alive []string, client string) bool {
	return protocol.Serving(slices.Concat([]string{id}, alive), client) == id
}
