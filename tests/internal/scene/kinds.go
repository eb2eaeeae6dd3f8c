package scene

import (
	"slices"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// The table of kinds: a kind gets the tests of what is true of all kinds by a row.

// Kind is one kind of lock, on as many servers as it needs. The name of each lock is "job".
type Kind struct {
	Name    string // for reports
	Servers int
	Sort    Sort
	Lock    Way // how it is taken
	Rival   Way // what excludes it
	Inside  Way // what its owner may take besides, if it can re-enter
}

// Kinds are all of them.
var Kinds = []Kind{
	{"mutex", 1, One, mutex, mutex, mutex},
	{"fair", 1, One, fair, fair, fair},
	{"write", 1, One, write, write, read},
	{"read", 1, One, read, write, read},
	{"permit", 1, One, permit, permit, Way{}},
	{"multi", 1, Whole, multi, overlap, multi},
	{"multi of two servers", 2, Whole, multis, multis, multis},
	{"quorum", 3, Majority, quorum, quorum, quorum},
	{"cohort", 1, Cohort, cohort(mutex), mutex, Way{}},
	{"cohort of writers", 1, Cohort, cohort(write), write, Way{}},
	{"cohort of readers", 1, Cohort, cohort(read), write, Way{}},
}

// Sort is what a hold is made of.
type Sort int

const (
	One      Sort = iota // one lock
	Whole                // several locks
	Majority             // most of several locks, each on a server of its own
	Cohort               // a turn of one lock that is passed on in memory
)

// Way is a way to take a lock.
type Way struct {
	mode mode
	of   func(clients []*redlatch.Client) redlatch.Lock // one client for each server
}

// mode is what Redis knows of a way.
type mode int

const (
	plainly mode = 1 + iota
	reading
	writing
	counted // a permit of as many as there are
)

var (
	mutex   = Way{plainly, first(stage.MutexOf)}
	fair    = Way{plainly, first(stage.FairOf)}
	read    = Way{reading, first(stage.ReadOf)}
	write   = Way{writing, first(stage.WriteOf)}
	permit  = Way{counted, first(stage.PermitOf)}
	multi   = Way{plainly, first(stage.MultiOf)}
	overlap = Way{plainly, first(func(c *redlatch.Client, _ string) redlatch.Lock {
		return check.Must(redlatch.NewMulti(c.Mutex("{job}:third"), c.Mutex("{job}:second")))
	})}
	multis = Way{plainly, func(cs []*redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewMulti(each(cs)...)) }}
	quorum = Way{plainly, func(cs []*redlatch.Client) redlatch.Lock { return check.Must(redlatch.NewQuorum(each(cs)...)) }}
)

// cohort is a way to take a lock that is passed on in memory.
func cohort(w Way) Way {
	return Way{w.mode, func(cs []*redlatch.Client) redlatch.Lock { return stage.InCohort{Of: w.of(cs)} }}
}

func first(of func(c *redlatch.Client, name string) redlatch.Lock) func([]*redlatch.Client) redlatch.Lock {
	return func(cs []*redlatch.Client) redlatch.Lock { return of(cs[0], "job") }
}

func each(cs []*redlatch.Client) (locks []redlatch.Lock) {
	for _, c := range cs {
		locks = append(locks, c.Mutex("job"))
	}
	return locks
}

// CanReenter says whether an owner may hold it several times.
func (k Kind) CanReenter() bool { return k.Inside.of != nil }

// Alike says whether Redis counts holds of the two ways as one.
func (w Way) Alike(other Way) bool { return w.mode == other.mode }

// HasOwner says whether Redis knows who has it.
func (w Way) HasOwner() bool { return w.mode != counted }

// Shared says whether two owners may hold it at a time.
func (k Kind) Shared() bool { return k.Lock.mode == reading }

// Refused is the error of an owner that asks for the lock in a way, and nil if it is granted.
func (s *Scene) Refused(w Way, mine, others []Taken) error {
	if s.Sort == Cohort { // which has no owners: each hold is another one's
		mine, others = nil, slices.Concat(mine, others)
	}
	switch own, foreign := count(mine), count(others); {
	case w.mode == writing && own[reading] > 0 && own[writing] == 0:
		return redlatch.ErrUpgrade
	case w.mode == reading && foreign[writing] == 0:
		return nil
	case w.mode == counted && own[counted]+foreign[counted] < s.permits:
		return nil
	case w.mode != counted && len(others) == 0:
		return nil
	}
	return redlatch.ErrNotAcquired
}

func count(holds []Taken) map[mode]int {
	n := make(map[mode]int)
	for _, h := range holds {
		n[h.mode]++
	}
	return n
}
