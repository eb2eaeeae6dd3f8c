package redlatch

import (
	"context"
	"fmt"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// What is different where several servers divide the keys among themselves.

// checkName says why a lock of this client cannot have that name, or nil.
func (c *Client) checkName(name string) error {
	if err := protocol.CheckName(name); err != nil {
		return err
	}
	if c.sharded == nil {
		return nil
	}
	// All that derives from a name derives from it by one of these two rules.
	slot := driver.Slot(name)
	for _, derived := range []string{protocol.LockChannel(name), protocol.ReadTimeoutKey(name, "", 1)} {
		if driver.Slot(derived) != slot {
			return fmt.Errorf("the name %q is in slot %d of the cluster, and its key %q in slot %d: "+
				"what stands between the first { and the next } decides, and Redisson adds braces to a name without {; "+
				"leave braces out of the name, or put a part of it between { and }", name, slot, derived, driver.Slot(derived))
		}
	}
	return nil
}

// Shard names the server that has the tenure's lock.
func (t *tenure) Shard() string {
	if t.client.sharded == nil {
		return ""
	}
	return t.client.sharded.Shard(t.point.name)
}

// renew extends the leases of a batch of tenures. The engine calls it.
func (c *Client) renew(ctx context.Context, batch []*renew.Item) (kept []bool, asked time.Time, err error) {
	groups := c.bySlot(batch)
	calls := make([]script.Call, len(groups))
	for i, group := range groups {
		renewals := make([]script.Renewal, len(group))
		for j, at := range group {
			renewals[j] = batch[at].Subject.(*tenure).renewal()
		}
		calls[i] = script.Renew(renewals)
	}
	results, err := c.runner.RunAll(ctx, calls...)
	if err != nil {
		return nil, asked, err
	}
	kept = make([]bool, len(batch))
	for i, group := range groups {
		answers, err := script.ReadRenewed(results[i].Reply, len(group))
		if err != nil {
			return nil, asked, err
		}
		for j, at := range group {
			kept[at] = answers[j]
		}
		if asked.IsZero() || results[i].Asked.Before(asked) {
			asked = results[i].Asked // trust all of them no longer than the first that left
		}
	}
	return kept, asked, nil
}

// bySlot divides a batch, by its indices, into what one script may touch.
func (c *Client) bySlot(batch []*renew.Item) [][]int {
	var groups [][]int
	place := make(map[int]int) // of a slot's group
	for i, item := range batch {
		slot := 0
		if c.sharded != nil {
			slot = driver.Slot(item.Subject.(*tenure).point.name)
		}
		at, known := place[slot]
		if !known {
			at = len(groups)
			place[slot] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	return groups
}
