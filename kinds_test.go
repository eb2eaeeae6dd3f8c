package redlatch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
)

// The ways to hold a lock, for tests of what is true of each of them.

// lockKind is one way to hold a lock, and the way that excludes it.
type lockKind struct {
	name        string // for reports
	of          string // the kind as Redis knows it
	lock, rival func(c *redlatch.Client, name string) redlatch.Lock
}

var lockKinds = []lockKind{
	{"mutex", "mutex", mutexOf, mutexOf},
	{"fair", "fair", fairOf, fairOf},
	{"write", "write", writeOf, writeOf},
	{"read", "read", readOf, writeOf},
}

// cohortKinds are the same by a cohort.
var cohortKinds = []lockKind{
	{"cohort", "mutex", cohortOf(mutexOf), mutexOf},
	{"cohort of writers", "write", cohortOf(writeOf), writeOf},
	{"cohort of readers", "read", cohortOf(readOf), writeOf},
}

// permitKind is the one permit of a semaphore. What is true of all kinds is true of it, except for what needs
// an owner that holds several times: each acquisition takes a permit of its own. So it is not in the tests of
// re-entry and of inner holds. It has neither tokens nor a Status, and no hash with the fields of others.
var permitKind = lockKind{"permit", "permit", permitOf, permitOf}

// kindsOfHolds are those of which everything is true that needs no re-entry.
var kindsOfHolds = append(slices.Clone(lockKinds), permitKind)

// inCohort is a lock that is taken by a cohort.
type inCohort struct{ of redlatch.Lock }

func (l inCohort) Name() string { return l.of.Name() }

func (l inCohort) Lock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.of.Lock(ctx, append(opts, redlatch.WithCohort(stay))...)
}

func (l inCohort) TryLock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.of.TryLock(ctx, append(opts, redlatch.WithCohort(stay))...)
}

// stay is for how long a lock may stay with a cohort.
const stay = 50 * time.Millisecond

func cohortOf(of func(c *redlatch.Client, name string) redlatch.Lock) func(c *redlatch.Client, name string) redlatch.Lock {
	return func(c *redlatch.Client, name string) redlatch.Lock { return inCohort{of(c, name)} }
}

func mutexOf(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) }

func fairOf(c *redlatch.Client, name string) redlatch.Lock { return c.FairMutex(name) }

func writeOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).Locker() }

func readOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).RLocker() }

func permitOf(c *redlatch.Client, name string) redlatch.Lock { return c.PermitSemaphore(name).Locker() }

func multiOf(c *redlatch.Client, name string) redlatch.Lock {
	return redlatch.NewMulti(c.Mutex(name), c.Mutex("{"+name+"}:second"))
}

// eachKind tells a story of each kind of lock. All of them are called "job".
func eachKind(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage, k lockKind)) {
	t.Helper()
	each(t, lockKinds, cfg, tell)
}

// eachWay is eachKind with the cohorts and a permit, for what needs no re-entry.
func eachWay(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage, k lockKind)) {
	t.Helper()
	each(t, slices.Concat(kindsOfHolds, cohortKinds), cfg, tell)
}

func each(t *testing.T, kinds []lockKind, cfg redlatch.Config, tell func(t *testing.T, s *stage, k lockKind)) {
	t.Helper()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			story(t, cfg, func(t *testing.T, s *stage) {
				s.teach(k)
				tell(t, s, k)
			})
		})
	}
}
