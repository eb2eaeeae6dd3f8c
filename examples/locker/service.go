package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/redlatch/redlatch"
)

// Locker is what the handlers need of a lock. A test injects another implementation. After
// an error nothing is held. After redlatch.ErrUnknownOutcome the lock may exist in Redis
// for one more lease.
type Locker interface {
	// Lock waits for as long as ctx lasts. The lock is renewed until Unlock.
	Lock(ctx context.Context, name string) (Held, error)
	// LockFor waits like Lock. The lock ends by itself after the lease.
	LockFor(ctx context.Context, name string, lease time.Duration) (Held, error)
	// TryLock does not wait. The lock is renewed until Unlock.
	TryLock(ctx context.Context, name string) (Held, error)
	// TryLockFor waits for a time. The lock ends by itself after the lease.
	TryLockFor(ctx context.Context, name string, wait, lease time.Duration) (Held, error)
	// IsLocked reports whether the lock is held.
	IsLocked(ctx context.Context, name string) (bool, error)
}

// Held is an acquired lock. Unlock is here and not in Locker, so that only a holder can
// release.
type Held interface {
	// Owner is the holder's name in Redis.
	Owner() string
	// Context ends when the lock is lost. Its cause then says so.
	Context() context.Context
	// Unlock releases the lock. The error is redlatch.ErrLost, for example, if the lock had
	// ended before.
	Unlock(ctx context.Context) error
}

// Inspector shows the state of a lock in Redis.
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

// routes are the endpoints. Those that lock accept every method, so that a plain curl
// is enough.
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

// under calls do under a lock and releases the lock, also after a panic. The error joins
// both errors: work under a lock that turns out to be lost did not succeed.
func under(ctx context.Context, h Held, do func() error) (err error) {
	defer func() { err = errors.Join(err, h.Unlock(ctx)) }()
	return do()
}
