package redlatch

import (
	"context"
	"errors"
	"fmt"

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
func (t *tenure) Shard() string { return t.client.shard(t.point.name) }

// shard names the server that has a lock, "" if all are on one.
func (c *Client) shard(lock string) string {
	if c.sharded == nil {
		return ""
	}
	return c.sharded.Shard(lock)
}

// renew extends the leases of a batch of tenures. The engine calls it. Where one server has
// all of them, one script does, unless the server refuses that: it may refuse one of them. In
// a cluster each has its own, for the keys of a slot on the move are on two servers.
func (c *Client) renew(ctx context.Context, batch []renew.Renewal) []renew.Answer {
	renewals := make([]script.Renewal, len(batch))
	for i, one := range batch {
		renewals[i] = one.Item.Subject.(*tenure).renewal(one.Term)
	}
	if c.sharded == nil && len(batch) > 1 {
		result, err := c.runner.Run(ctx, script.Renew(renewals))
		answers := readRenewed(result, err, len(batch))
		var refused *driver.ServerError
		if !errors.As(answers[0].Err, &refused) {
			return answers
		}
	}
	calls := make([]script.Call, len(batch))
	for i := range renewals {
		calls[i] = script.Renew(renewals[i : i+1])
	}
	var answers []renew.Answer
	for _, result := range c.runner.RunEach(ctx, calls...) {
		answers = append(answers, readRenewed(result, result.Failed(), 1)...)
	}
	return answers
}

// readRenewed is what one request for n renewals came to.
func readRenewed(result script.Result, err error, n int) []renew.Answer {
	answers := make([]renew.Answer, n)
	var all []script.Renewed
	if err == nil {
		all, err = script.ReadRenewed(result.Reply, n)
	}
	for i := range answers {
		if err != nil {
			answers[i].Err = err
		} else {
			answers[i] = renew.Answer{Err: all[i].Err, Held: all[i].Held, Asked: result.Asked}
		}
	}
	return answers
}
