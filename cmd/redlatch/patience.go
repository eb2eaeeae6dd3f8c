package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/pause"
)

// patience is for how long a verb waits: for the server first, and then for the lock.
type patience struct {
	limited bool
	limit   time.Duration
	began   time.Time
	quiet   bool
	told    bool // that the server is waited for
	backoff pause.Backoff
}

// left is the time that is left of a limited patience.
func (p *patience) left() time.Duration { return max(p.limit-time.Since(p.began), 0) }

// over says that the time is up.
func (p *patience) over() bool { return p.limited && p.left() == 0 }

// leastAttempt is the time that an attempt to connect has, however short the patience is: a
// server that lives is not reported as one that does not.
const leastAttempt = time.Second

// connect connects to the server. It waits for one that does not answer if the patience has a
// limit. Without a limit a wrong address would be waited for without end.
func (p *patience) connect(ctx context.Context, s *server, cfg redlatch.Config) (*redlatch.Client, error) {
	if !p.limited || p.limit <= 0 {
		return s.connect(ctx, cfg)
	}
	var reason error
	for {
		attempt, cancel := context.WithTimeout(ctx, max(p.left(), leastAttempt))
		client, err := s.connect(attempt, cfg)
		late := attempt.Err() != nil
		cancel()
		if reason == nil || !late {
			reason = err
		}
		switch {
		case err == nil:
			return client, nil
		case p.again(ctx, err):
		case p.over() && !permanent(err):
			return nil, exit(exitFailure, "%w; there was no server for %v", reason, p.limit)
		default:
			return nil, err
		}
	}
}

// take acquires what a verb wants, and says at a terminal what it waits for.
func (p *patience) take(ctx context.Context, client *redlatch.Client, k *kind, l redlatch.Lock, options []redlatch.LockOption) (*redlatch.Hold, error) {
	defer p.tellOfWait(ctx, k.waitsFor(client, l.Name()))()
	hold, err := p.lock(ctx, l, options)
	return hold, ofKind(ctx, client.Driver(), l.Name(), err)
}

// lock acquires a lock. It asks again after a failure of the server. If the lock may be taken by an
// attempt of unknown outcome, that attempt is waited for, for one lease at most.
func (p *patience) lock(ctx context.Context, l redlatch.Lock, options []redlatch.LockOption) (*redlatch.Hold, error) {
	for {
		limited := options
		if p.limited {
			limited = append(slices.Clip(options), redlatch.WithWait(p.left()))
		}
		hold, err := l.Lock(ctx, limited...)
		refused, _ := errors.AsType[*redlatch.NotAcquiredError](err)
		switch {
		case refused != nil && refused.Holder == "" && ctx.Err() == nil:
			// What was left was too short for an answer. Without a wait the answer is awaited.
			return l.Lock(ctx, append(limited, redlatch.WithWait(0))...)
		case err == nil, errors.Is(err, redlatch.ErrNotAcquired):
			return hold, err
		case !p.again(ctx, failed(err)):
			return nil, err
		}
	}
}

// again says whether the server is to be asked again after a failure, and pauses before.
func (p *patience) again(ctx context.Context, failure error) bool {
	if !p.limited || p.over() || ctx.Err() != nil || permanent(failure) {
		return false
	}
	if !p.told && !p.quiet {
		tell(fmt.Errorf("%w; trying again for %v", failure, p.left().Round(100*time.Millisecond)))
	}
	p.told = true
	p.backoff.First, p.backoff.Max = 100*time.Millisecond, time.Second
	_ = pause.For(ctx, min(p.backoff.Next(), p.left()))
	return true
}

// permanent says that another attempt would fail as well: the command line is wrong, a ticket is over, or one side
// does not accept the other.
func permanent(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && exit.code != exitFailure || connect.Permanent(err)
}

// untilTold is after how much of a wait a user at a terminal is told who holds the lock.
const untilTold = time.Second

// tellOfWait says at a terminal what a wait is for, if the wait lasts. The caller ends it with the wait.
func (p *patience) tellOfWait(ctx context.Context, what func(context.Context) string) (end func()) {
	if p.quiet || !term.IsTerminal(int(os.Stderr.Fd())) {
		return func() {}
	}
	return beside(ctx, func(ctx context.Context) {
		for pause.For(ctx, untilTold) == nil {
			if text := what(ctx); text != "" {
				tell(errors.New("waiting for " + text))
				return
			}
		}
	})
}
