package redlatch_test

import (
	"testing"

	"github.com/redlatch/redlatch"
)

// The ways to hold a lock, for tests of what is true of each of them.

// lockKind is one way to hold a lock, and the way that excludes it.
type lockKind struct {
	name        string
	lock, rival func(c *redlatch.Client, name string) redlatch.Lock
}

var lockKinds = []lockKind{
	{"mutex", mutexOf, mutexOf},
	{"fair", fairOf, fairOf},
	{"write", writeOf, writeOf},
	{"read", readOf, writeOf},
}

func mutexOf(c *redlatch.Client, name string) redlatch.Lock { return c.Mutex(name) }

func fairOf(c *redlatch.Client, name string) redlatch.Lock { return c.FairMutex(name) }

func writeOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).Locker() }

func readOf(c *redlatch.Client, name string) redlatch.Lock { return c.RWMutex(name).RLocker() }

func multiOf(c *redlatch.Client, name string) redlatch.Lock {
	return redlatch.NewMulti(c.Mutex(name), c.Mutex("{"+name+"}:second"))
}

// eachKind tells a story of each kind of lock. All of them are called "job".
func eachKind(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage, k lockKind)) {
	t.Helper()
	for _, k := range lockKinds {
		t.Run(k.name, func(t *testing.T) {
			story(t, cfg, func(t *testing.T, s *stage) {
				s.teach(k)
				tell(t, s, k)
			})
		})
	}
}
