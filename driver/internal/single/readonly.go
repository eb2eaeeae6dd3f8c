package single

import (
	"errors"
	"strings"

	"github.com/redlatch/redlatch/driver"
)

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
		// A DNS name or a virtual IP may lead to another server by now.
		d.mu.Lock()
		d.abandon(link.generation, refused, readOnly{refused})
		d.mu.Unlock()
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
