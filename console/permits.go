package console

import (
	"context"
	"errors"
	"iter"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/script"
)

// permitsOf reads the semaphores whose permits are in use. It is nil if the source has none.
func permitsOf(source Source, pattern string) func(context.Context) ([]inspect.Counter, error) {
	s, ok := source.(interface {
		Permits(ctx context.Context, pattern string) iter.Seq2[inspect.Counter, error]
	})
	if !ok {
		return nil
	}
	return func(ctx context.Context) (all []inspect.Counter, failure error) {
		for c, err := range s.Permits(ctx, pattern) {
			switch {
			case err == nil && c.Kind == inspect.KindPermits:
				all = append(all, c)
			case err != nil && !errors.Is(err, redlatch.ErrWrongType) && script.Code(err) != "NOPERM":
				failure = err
			}
		}
		return all, failure
	}
}

// locksOf are semaphores as locks that several owners hold: each has a permit, whose id is its name.
func locksOf(permits []inspect.Counter) []inspect.Lock {
	var all []inspect.Lock
	for _, c := range permits {
		l := inspect.Lock{Name: c.Name, Kind: c.Kind, Mode: redlatch.Mode(c.Kind), Owners: c.InUse, Waiting: c.Waiting, Findings: c.Findings, Seen: c.Seen}
		for _, p := range c.Permits {
			l.Holders = append(l.Holders, inspect.Holder{Owner: p.ID, Count: 1, TTL: p.TTL, Noted: p.Noted})
		}
		if len(l.Holders) > 0 { // the first one expires first
			l.TTL = l.Holders[0].TTL
		}
		all = append(all, l)
	}
	return all
}
