package inspect

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// Snapshot is what Follow has read in one round.
type Snapshot struct {
	At     time.Time
	Walked bool    // one walk through all keys is over, so Locks is complete
	Locks  []Lock  // those that are held, or have a queue or a finding; sorted by name
	Events []Event // since the last snapshot
}

// Follow yields a snapshot at each interval, until ctx ends. Default of every: 1s. The least interval is
// 20 ms. Each time Follow reads all locks that it knows, and uses the rest of the interval to look for new
// ones by SCAN. Snapshots are further apart if Config.Rate does not suffice for the known locks: Follow
// then looks for new ones for up to twice as long as it has read.
//
// If pattern has no special character, Follow does what Watch does.
//
// An error concerns one server or one lock, and Follow goes on. Follow does not yield the error of ctx.
func (i *Inspector) Follow(ctx context.Context, pattern string, every time.Duration) iter.Seq2[Snapshot, error] {
	if !isGlob(pattern) {
		return i.Watch(ctx, pattern, every)
	}
	every = atLeast(every)
	return func(yield func(Snapshot, error) bool) {
		f := follower{Inspector: i, pattern: pattern, locks: make(map[string]Lock), freed: make(map[string]time.Time)}
		for ctx.Err() == nil {
			until := time.Now().Add(every)
			snapshot, errs := f.round(ctx, until)
			for _, err := range errs {
				if ctx.Err() == nil && !yield(Snapshot{}, err) {
					return
				}
			}
			if ctx.Err() != nil || !yield(snapshot, nil) || pause.For(ctx, time.Until(until)) != nil {
				return
			}
		}
	}
}

// Watch is Follow for one lock, whose name may have any characters. Every snapshot has the lock, also while it is free.
func (i *Inspector) Watch(ctx context.Context, name string, every time.Duration) iter.Seq2[Snapshot, error] {
	every = atLeast(every)
	return func(yield func(Snapshot, error) bool) {
		var prev []Lock
		for ctx.Err() == nil {
			l, err := i.Lock(ctx, name)
			if ctx.Err() != nil {
				return
			}
			var snapshot Snapshot
			if err == nil {
				snapshot = Snapshot{At: l.Seen, Walked: true, Locks: []Lock{l}}
				if prev != nil { // otherwise nobody knows since when it is held
					snapshot.Events = Diff(prev, snapshot.Locks, l.Seen)
				}
				prev = snapshot.Locks
			}
			if !yield(snapshot, err) || pause.For(ctx, every) != nil {
				return
			}
		}
	}
}

// shortest is the least time between two snapshots.
const shortest = 20 * time.Millisecond

func atLeast(every time.Duration) time.Duration { return max(cmp.Or(every, time.Second), shortest) }

// follower is what Follow remembers from one snapshot to the next.
type follower struct {
	*Inspector
	pattern string
	walk    *walk
	walked  bool                 // once, to its end
	failed  bool                 // this walk had an error
	locks   map[string]Lock      // at the last snapshot
	freed   map[string]time.Time // free locks, and since when: they are often taken again
}

const (
	commandsPerLock = 6 // at most, twice over: the script, and those for its listeners

	keepFreed = 10 * time.Second // for so long a free lock is read as if it was held
	maxFreed  = 1000
)

// round reads all known locks, and walks on until then at the most. If that leaves little time, it walks for
// twice as long as it has read, so that a new lock is found in time. The first walk has longer, because each of its
// rounds reads again what the walk has found.
func (f *follower) round(ctx context.Context, until time.Time) (Snapshot, []error) {
	prev, began := f.locks, time.Now()
	next, errs := f.reread(ctx)
	now := time.Now()
	share := time.Duration(commandsPerLock*len(f.locks)) * f.pace.each
	if f.walked {
		share = min(share, 2*now.Sub(began))
	}
	if until.Before(now.Add(share)) {
		until = now.Add(share)
	}
	complete := f.walked
	found, failed := f.discover(ctx, until, next)
	if ctx.Err() != nil {
		return Snapshot{}, nil
	}
	if !complete { // nobody knows since when they are held
		maps.Copy(prev, found)
	}
	maps.Copy(next, found)
	at := time.Now()
	snapshot := Snapshot{At: at, Walked: f.walked, Locks: sorted(next), Events: Diff(sorted(prev), sorted(next), at)}
	snapshot.Locks = slices.DeleteFunc(snapshot.Locks, func(l Lock) bool { return !isWorthIt(l) })
	f.keep(next, at)
	return snapshot, append(errs, failed...)
}

// reread reads the locks that are known. One that cannot be read stays as it was.
func (f *follower) reread(ctx context.Context) (map[string]Lock, []error) {
	next := make(map[string]Lock, len(f.locks))
	found, err := f.readAll(ctx, slices.Sorted(maps.Keys(f.locks)))
	if err != nil {
		return next, nil // ctx has ended
	}
	var failure error
	locks := make([]Lock, 0, len(found))
	for _, one := range found {
		switch {
		case one.err == nil:
			locks = append(locks, one.lock)
		case len(one.lock.Findings) == 0:
			failure = one.err
			next[one.lock.Name] = f.locks[one.lock.Name]
		} // otherwise it is data now
	}
	f.complete(ctx, locks)
	for _, l := range locks {
		next[l.Name] = l
	}
	if failure != nil {
		return next, []error{failure}
	}
	return next, nil
}

// discover walks on, and returns the locks that are not known yet. It walks through all keys once at
// the most.
func (f *follower) discover(ctx context.Context, until time.Time, known map[string]Lock) (map[string]Lock, []error) {
	var errs []error
	found := make(map[string]Lock)
	if f.walk == nil {
		var err error
		if f.walk, err = f.newWalk(ctx, f.pattern, forLocks(f.pattern)); err != nil {
			return found, []error{err}
		}
	}
	for name := range known {
		f.walk.seen[name] = true
	}
	for begun := false; !f.walk.over() && (!begun || time.Now().Before(until)) && ctx.Err() == nil; begun = true {
		locks, err := advance(ctx, f.Inspector, f.walk, f.readStep)
		for _, l := range locks {
			found[l.Name] = l
		}
		if err != nil {
			errs, f.failed = append(errs, err), true
		}
	}
	if f.walk.over() {
		f.walk, f.walked, f.failed = nil, f.walked || !f.failed, false
	}
	return found, errs
}

// keep remembers the locks, and free ones for a while.
func (f *follower) keep(locks map[string]Lock, now time.Time) {
	f.locks = locks
	maps.DeleteFunc(f.freed, func(name string, _ time.Time) bool { return locks[name].Name == "" })
	for name, l := range locks {
		since, free := f.freed[name]
		switch {
		case isWorthIt(l):
			delete(f.freed, name)
		case free && now.Sub(since) > keepFreed, !free && len(f.freed) >= maxFreed:
			delete(f.freed, name)
			delete(f.locks, name)
		case !free:
			f.freed[name] = now
		}
	}
}

func sorted(locks map[string]Lock) []Lock {
	return slices.SortedFunc(maps.Values(locks), func(a, b Lock) int { return cmp.Compare(a.Name, b.Name) })
}
