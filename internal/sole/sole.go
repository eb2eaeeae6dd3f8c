// Package sole is for what needs one holder at a time, such as leaders and schedules: which locks serve it, under
// which context they are taken, and which errors of an acquisition another attempt cannot mend.
package sole

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lock"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Check is a *redlatch.ConfigError if l is missing, or may have several holders.
func Check(l redlatch.Lock) error {
	if err := lockerr.Missing("lock", l); err != nil || redlatch.Exclusive(l) {
		return err
	}
	return &redlatch.ConfigError{Field: "lock", Reason: fmt.Sprintf(
		"%q may have several holders, as a PermitSemaphore and the read side of an RWMutex have: use an exclusive lock", l.Name())}
}

// Context is ctx without an owner of WithOwner. Two that share an owner would both hold the lock.
func Context(ctx context.Context) context.Context { return lock.WithoutOwner(ctx) }

// Final says whether another attempt to acquire the lock cannot help.
func Final(err error) bool {
	if _, wrong := errors.AsType[*redlatch.ConfigError](err); wrong {
		return true
	}
	for _, one := range []error{
		redlatch.ErrClosed, redlatch.ErrInvalidName, redlatch.ErrWrongType,
		redlatch.ErrReentry, redlatch.ErrUpgrade, redlatch.ErrUnsupported,
	} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
