package redlatch

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// replicate waits until as many replicas as asked for have the hold, and says why it must
// not be used otherwise.
//
// It renews the hold and asks for the replicas in one breath on one connection: a replica
// that has the renewal has everything that the server did before, the grant included.
// Whoever took the hold over its own connection is thus no matter, and repeating it
// changes nothing.
func (c *Client) replicate(ctx context.Context, h *Hold, want request) error {
	t := h.tenure()
	result, had, err := c.runner.RunReplicated(ctx, script.Renew([]script.Renewal{t.renewal()}), want.replicas, want.confirm)
	if err != nil {
		return withCause(fmt.Errorf("redlatch: lock %q: %w: %w", t.point.name, ErrNotReplicated, bare(err)), ctx)
	}
	kept, err := script.ReadRenewed(result.Reply, 1)
	switch {
	case err != nil:
		return failure("lock", t.point.name, err)
	case !kept[0]:
		t.Lost(renew.ErrGone)
		return h.Err()
	case had < want.replicas:
		return fmt.Errorf("redlatch: lock %q: %w: %d of %d replicas had it within %v", t.point.name, ErrNotReplicated, had, want.replicas, want.confirm)
	}
	t.extend(result.Asked)
	return h.Err()
}
