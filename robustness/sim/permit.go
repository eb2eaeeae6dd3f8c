package sim

import (
	"context"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// permitLock is a semaphore with one permit, as a lock. A fault may take the semaphore away, so whoever
// wants the permit makes it first, and again after a while.
type permitLock struct {
	*redlatch.PermitSemaphore
	again time.Duration
}

// Lock takes the permit. The wait of the options, if there is one, comes last.
func (l permitLock) Lock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	for {
		if _, err := l.TrySetPermits(ctx, 1); err != nil && ctx.Err() == nil && errors.Is(err, redlatch.ErrClosed) {
			return nil, err
		}
		h, err := l.Acquire(ctx, append([]redlatch.LockOption{redlatch.WithWait(l.again)}, opts...)...)
		ended := errors.Is(err, redlatch.ErrNotAcquired) || errors.Is(err, redlatch.ErrUnknownOutcome) // with a part of the wait
		if err == nil || len(opts) > 0 || ctx.Err() != nil || !ended {
			return h, err
		}
	}
}

// TryLock is Lock.
func (l permitLock) TryLock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Lock(ctx, opts...)
}

// permit is for how long the server has a permit in use, by its own clock.
func (s *redis) permit(key, owner string) time.Duration {
	id, err := hex.DecodeString(owner)
	if err != nil || !s.mini.Exists(key) || !s.mini.Exists(protocol.PermitsInUse(key)) {
		return 0
	}
	score, err := s.mini.ZScore(protocol.PermitsInUse(key), string(id))
	if err != nil {
		return 0
	}
	return max(time.UnixMilli(int64(score)).Sub(s.tick()), 0)
}

// endPermits removes the semaphores at the end of a world. All of their permits are available, or have
// expired: none is lost, and none has come twice.
func (s *redis) endPermits(w *World) {
	now := s.tick()
	for _, l := range w.plan.Locks {
		key, inUse := l.Name, protocol.PermitsInUse(l.Name)
		if l.Kind != Permit || !s.mini.Exists(key) {
			continue
		}
		value, _ := s.mini.Get(key)
		members, _ := s.mini.ZMembers(inUse)
		for _, member := range members {
			if score, _ := s.mini.ZScore(inUse, member); time.UnixMilli(int64(score)).After(now) {
				w.violate("a permit of %s is in use", key)
			}
		}
		if free, err := strconv.Atoi(value); err != nil || free+len(members) != 1 {
			w.violate("%s of one permit of %s available, and %d expired", value, key, len(members))
		}
		s.mini.Del(key)
		s.mini.Del(inUse)
	}
}
