package rueidis

import (
	"errors"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver"
)

// renewEvery is the least time between two renewals of the connections to a read-only
// server. Up to as much again is added, at random.
const renewEvery = 500 * time.Millisecond

// readOnly is why a link is given up whose server refuses writes.
type readOnly struct{ refusal error }

func (r readOnly) Error() string { return r.refusal.Error() }

// heed looks at an error reply, and explains it if it can.
func (d *Driver) heed(link *link, err error) error {
	var refused *driver.ServerError
	if !errors.As(err, &refused) {
		return err
	}
	if isReadOnly(refused) {
		d.renew(link, refused)
	}
	if d.options.Explain != nil {
		return d.options.Explain(refused)
	}
	return err
}

// renew is called when the server refuses writes, having become a replica. Behind a DNS name or a virtual IP there may be another server by now, which only a new
// connection reaches. So all connections are made anew, at most once in renewEvery: the
// address may lead to the replica still. Calls under way on the link may end in peace;
// calls apart and listeners end.
func (d *Driver) renew(link *link, err error) {
	d.mu.Lock()
	now := time.Now()
	if d.closed || link.era.Err() != nil || now.Before(d.renewal) {
		d.mu.Unlock()
		return
	}
	d.renewal = now.Add(jittered(2 * renewEvery))
	current := d.link.Load()
	d.endEra(dropped{err})
	d.mu.Unlock()
	if current != nil {
		d.lose(current, readOnly{err})
	}
}

// isReadOnly recognizes the refusal of a replica. Before Redis 7, an error that ended a
// script stands behind the script's name and line.
func isReadOnly(refused *driver.ServerError) bool {
	return refused.Code() == "READONLY" || strings.HasPrefix(refused.Message, "ERR Error running script") &&
		strings.Contains(refused.Message, ": -READONLY ")
}

// drain closes a link when its calls have ended, or the command timeout has passed.
func (d *Driver) drain(link *link) {
	ctx, cancel := d.options.bounded(d.life)
	defer cancel()
	defer link.close()
	for range places {
		if link.queue.enter(ctx) != nil {
			return
		}
	}
}
