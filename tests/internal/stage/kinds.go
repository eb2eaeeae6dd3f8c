package stage

import (
	"context"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
)

// The locks of one key, for tests of what only those have: a TTL, tokens, owners of other libraries. What is true of
// all kinds of lock is told on a scene (tests/internal/scene).

// Kind is one way to hold such a lock, and the way that excludes it.
type Kind struct {
	Name        string // the kind as Redis knows it
	Lock, Rival func(c *redlatch.Client, name string) redlatch.Lock
}

var LockKinds = []Kind{
	{"mutex", MutexOf, MutexOf},
	{"fair", FairOf, FairOf},
	{"write", WriteOf, WriteOf},
	{"read", ReadOf, WriteOf},
}

// InCohort is a lock that is taken by a cohort.
type InCohort struct{ Of redlatch.Lock }

func (l InCohort) Name() string { return l.Of.Name() }

func (l InCohort) Lock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Of.Lock(ctx, append(opts, redlatch.WithCohort(Stay))...)
}

func (l InCohort) TryLock(ctx context.Context, opts ...redlatch.LockOption) (*redlatch.Hold, error) {
	return l.Of.TryLock(ctx, append(opts, redlatch.WithCohort(Stay))...)
}

// Stay is for how long a lock may stay with a cohort.
const Stay = 50 * time.Millisecond

func MutexOf(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) }

func FairOf(c *redlatch.Client, name string) redlatch.Lock { return c.FairMutex(name) }

func WriteOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name) }

func ReadOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).RLocker() }

func PermitOf(c *redlatch.Client, name string) redlatch.Lock { return c.PermitSemaphore(name).Locker() }

func MultiOf(c *redlatch.Client, name string) redlatch.Lock {
	return check.Must(redlatch.NewMulti(c.Mutex(name), c.Mutex("{"+name+"}:second")))
}

// EachKind tells a story of each kind of lock. All of them are called "job".
func EachKind(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *Stage, k Kind)) {
	t.Helper()
	for _, k := range LockKinds {
		t.Run(k.Name, func(t *testing.T) {
			Story(t, cfg, func(t *testing.T, s *Stage) {
				s.Teach(k)
				tell(t, s, k)
			})
		})
	}
}

// Ways are the ways to take a lock.
var Ways = map[string]struct {
	Of   func(c *redlatch.Client, name string) redlatch.Lock
	Opts []redlatch.LockOption
}{
	"mutex":  {Of: MutexOf},
	"fair":   {Of: FairOf},
	"write":  {Of: func(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name) }},
	"read":   {Of: ReadOf},
	"fenced": {Of: MutexOf, Opts: []redlatch.LockOption{redlatch.WithFencing()}},
	"cohort": {Of: MutexOf, Opts: []redlatch.LockOption{redlatch.WithCohort(time.Minute)}},
	"multi": {Of: func(c *redlatch.Client, name string) redlatch.Lock {
		return check.Must(redlatch.NewMulti(c.Mutex(name), c.Mutex(name+"{b}")))
	}},
}
