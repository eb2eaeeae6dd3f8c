package main

import (
	"context"
	"fmt"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

var (
	rwLock    = script.NewRW("rw", protocol.Plain)
	readOnce  = script.Counts{Reads: 1}
	readTwice = script.Counts{Reads: 2}
	// rwColumns are what readers and writers do.
	rwColumns = []string{"reader enters", "reader enters again", "renewal", "writer is refused", "reader leaves", "writer enters", "writer leaves"}
)

// readers have all of them take the lock, or release it.
func (s *scaled) readers(ctx context.Context, n int, leave bool) error {
	calls := make([]script.Call, n)
	for i := range calls {
		calls[i] = rwLock.Acquire(scaleOwner(i), readOnce, scaleLease, false)
		if leave {
			calls[i] = rwLock.Release(scaleOwner(i), 1, none, scaleLease)
		}
	}
	_, err := s.run(ctx, calls...)
	return err
}

// rwCosts measures each script of a read-write lock with so many readers, and those of a writer
// without any.
func rwCosts(ctx context.Context, s *scaled, readers int) error {
	sample := func(columns []string, calls func(owner string) []script.Call) error {
		for i := range s.samples {
			for j, call := range calls(scaleOwner(readers + i)) {
				if _, err := s.charge(ctx, columns[j], call); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := s.readers(ctx, readers, false); err != nil {
		return err
	}
	if err := sample(rwColumns, func(owner string) []script.Call {
		return []script.Call{
			rwLock.Acquire(owner, readOnce, scaleLease, false), rwLock.Acquire(owner, readTwice, scaleLease, false),
			script.Renew([]script.Renewal{rwLock.Renewal(owner, readTwice, false, scaleLease)}),
			rwLock.Acquire("w"+owner, once, scaleLease, true), rwLock.Release(owner, 2, none, scaleLease),
		}
	}); err != nil {
		return err
	}
	if err := s.readers(ctx, readers, true); err != nil {
		return err
	}
	if err := sample(rwColumns[5:], func(owner string) []script.Call {
		return []script.Call{rwLock.Acquire(owner, once, scaleLease, true), rwLock.Release(owner, 0, none, scaleLease)}
	}); err != nil {
		return err
	}
	left, err := s.command(ctx, "DBSIZE").AsInt64()
	if err == nil && left > 0 {
		err = fmt.Errorf("%d keys are left", left)
	}
	return err
}
