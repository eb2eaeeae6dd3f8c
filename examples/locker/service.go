package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/redlatch/redlatch"
)

// Locker is what the handlers need of a lock, and all that they know of it: a test
// injects another one. After an error nothing is held; after redlatch.ErrUnknownOutcome
// the lock may stand in Redis for one more lease.
type Locker interface {
	// Lock waits for as long as ctx lasts. The lock is renewed until Unlock.
	Lock(ctx context.Context, name string) (Held, error)
	// LockFor waits like Lock. The lock ends by itself after the lease.
	LockFor(ctx context.Context, name string, lease time.Duration) (Held, error)
	// TryLock does not wait. The lock is renewed until Unlock.
	TryLock(ctx context.Context, name string) (Held, error)
	// TryLockFor waits for a time. The lock ends by itself after the lease.
	TryLockFor(ctx context.Context, name string, wait, lease time.Duration) (Held, error)
	// IsLocked says whether anybody holds the lock.
	IsLocked(ctx context.Context, name string) (bool, error)
}

// Held is a lock that was taken. Unlock is here and not in Locker, so that nobody can
// release what they do not hold.
type Held interface {
	// Owner is the holder as it stands in Redis.
	Owner() string
	// Context ends when the lock is lost, and then says so by its cause.
	Context() context.Context
	// Unlock gives the lock back. An error says that this is not what happened, for
	// example redlatch.ErrLost if the lock had ended before.
	Unlock(ctx context.Context) error
}

// Inspector shows a lock as Redis has it.
type Inspector interface {
	Status(ctx context.Context, name string) (redlatch.Status, error)
}

// service is the application.
type service struct {
	locker    Locker
	inspector Inspector
	stock     *stock
	times     times
	log       *slog.Logger
}

// routes are the endpoints. Those that lock answer to every method, so that a plain
// curl is enough.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/lock/redlatch/lock/{name}", s.lock)
	mux.HandleFunc("/v1/lock/redlatch/try-lock/{name}", s.tryLock)
	mux.HandleFunc("GET /v1/lock/redlatch/status/{name}", s.showStatus)
	mux.HandleFunc("GET /v1/stock/{item}", s.showStock)
	mux.HandleFunc("PUT /v1/stock/{item}", s.fillStock)
	mux.HandleFunc("POST /v1/stock/with-lock/{item}", s.sellWithLock)
	mux.HandleFunc("POST /v1/stock/without-lock/{item}", s.sellWithoutLock)
	return mux
}

// under does something under a lock and gives the lock back, also after a panic. The
// error joins both: what was done under a lock that turns out to be lost did not
// succeed.
func under(ctx context.Context, h Held, do func() error) (err error) {
	defer func() { err = errors.Join(err, h.Unlock(ctx)) }()
	return do()
}
