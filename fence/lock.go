package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/lockerr"
)

// Lock takes a lock with a token, and lets the token pass the guards before it returns. From then
// on the guards refuse every former holder, even if the new one has not written yet:
//
//	hold, err := fence.Lock(ctx, client.Mutex("stock:7"), func(ctx context.Context, token int64) error {
//		return stock.Row(7).Pass(ctx, db, token)
//	})
//
// It blocks as l.Lock does, and then as pass does. The context of pass also ends with the hold. If
// pass fails, Lock releases the lock, and its error matches that of pass. If pass panics, Lock releases
// the lock, and the panic goes on. If l or pass is nil, the error is a *redlatch.ConfigError. ErrStale
// means that a newer holder has passed meanwhile, or that the counter of tokens was lost
// (redlatch.Config.TokenClock). After an error that leaves the outcome open, the token may have
// passed. That does no harm: the next token is greater. The tokens of a Multi or Quorum are those
// of its members, so Lock returns ErrNoToken for these.
func Lock(ctx context.Context, l redlatch.Lock, pass func(ctx context.Context, token int64) error, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	if err := cmp.Or(lockerr.Missing("lock", l), lockerr.Missing("pass", pass)); err != nil {
		return nil, err
	}
	hold, err := l.Lock(ctx, append(opts[:len(opts):len(opts)], redlatch.WithFencing())...)
	if err := lockerr.Taken(l, hold, err); err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // pass panicked or called Goexit, and nobody else has the hold
			_ = hold.Unlock(ctx)
		}
	}()
	err = raise(ctx, hold, pass)
	returned = true
	if err != nil {
		return nil, fmt.Errorf("fence: lock %q: %w", l.Name(), errors.Join(err, hold.Unlock(ctx)))
	}
	return hold, nil
}

// raise calls pass with a context that ends with the hold.
func raise(ctx context.Context, hold *redlatch.Hold, pass func(context.Context, int64) error) error {
	if err := check(hold.Token()); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(hold.Context(), func() { cancel(context.Cause(hold.Context())) })()
	return pass(ctx, hold.Token())
}
