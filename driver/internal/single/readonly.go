package single

import (
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/pause"
)

// leaveEvery is the least time between two attempts to leave a read-only server. Up to as
// much again is added, at random.
const leaveEvery = 500 * time.Millisecond

// readOnly is why a link is given up whose server refuses writes.
type readOnly struct{ refusal error }

func (r readOnly) Error() string { return r.refusal.Error() }

// refused reacts to an error reply, and explains it if it can.
func (d *Driver) refused(link *link, err error) error {
	refused, ok := errors.AsType[*driver.ServerError](err)
	if !ok {
		return err
	}
	if isReadOnly(refused) {
		d.leaveReplica(link, refused)
	}
	if d.options.Explain != nil {
		return d.options.Explain(refused)
	}
	return err
}

// isReadOnly recognizes the refusal of a replica. Before Redis 7, an error that ended a
// script stands behind the script's name and line.
func isReadOnly(refused *driver.ServerError) bool {
	return refused.Code() == "READONLY" || strings.HasPrefix(refused.Message, "ERR Error running script") &&
		strings.Contains(refused.Message, ": -READONLY ")
}

// leaveReplica makes all connections again, because the server has become a replica. A DNS
// name or a virtual IP may lead to another server by now, which only a new connection
// reaches. The address may still lead to the replica, so this happens at most once in
// leaveEvery. Calls under way on the link may end; dedicated pipelines and listeners fail.
func (d *Driver) leaveReplica(link *link, err error) {
	d.mu.Lock()
	now := time.Now()
	if link.generation.Err() != nil || now.Before(d.spared) {
		d.mu.Unlock()
		return
	}
	d.spared = now.Add(pause.Jittered(2 * leaveEvery))
	current := d.link.Load()
	d.endGeneration(dropped(err))
	d.mu.Unlock()
	if current != nil {
		d.lose(current, readOnly{err})
	}
}
