package product_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch"
)

// A plan: what each actor does, one visit after another.

// what is a kind of lock, or an event.
type what int

const (
	mutex what = iota
	fair
	write
	read
	permit
	multi
	quorum
	semaphore
	latch
	shutdown // of a process, which another one replaces
	closing  // the same by Close
	dying    // the same, and no request of the old one arrives any more
	force    // by an operator
	foreign  // a hold that Java took for many years, and releases
	braced   // a name that would share keys with another lock
	listing  // an operator reads the state
	goesBack // the server's clock, by an hour
	asking   // an operator asks holders for their lock
)

var whats = [...]string{"mutex", "fair", "write", "read", "permit", "multi", "quorum", "semaphore", "latch", "shutdown", "close", "die", "force", "foreign", "braced", "status", "back", "recall"}

func (w what) String() string { return whats[w] }

func (w what) isLock() bool { return w <= quorum }

// name is the name of a lock in Redis. Both sides of a read-write lock have the same.
func (w what) name(n int) string {
	if w == write || w == read {
		return fmt.Sprint("rw", n)
	}
	return fmt.Sprintf("%v%d", w, n)
}

// option is an option of an acquisition.
type option struct {
	Kind int
	D    time.Duration
}

const (
	lease = iota
	wait
	fencing
	replicas
	maxHold
	cohort
	minHold
	backoff
	note
	recall
	optionCount
)

var options = [optionCount]struct {
	name string
	of   func(d time.Duration) redlatch.LockOption
}{
	lease:    {"lease", redlatch.WithLease},
	wait:     {"wait", redlatch.WithWait},
	fencing:  {"fencing", func(time.Duration) redlatch.LockOption { return redlatch.WithFencing() }},
	replicas: {"replicas", func(d time.Duration) redlatch.LockOption { return redlatch.WithReplicas(1, d) }},
	maxHold:  {"max hold", redlatch.WithMaxHold},
	cohort:   {"cohort", redlatch.WithCohort},
	minHold:  {"min hold", redlatch.WithMinHold},
	backoff:  {"backoff", func(d time.Duration) redlatch.LockOption { return redlatch.WithBackoff(d, 4*d) }},
	note:     {"note", func(d time.Duration) redlatch.LockOption { return redlatch.WithNote(d.String()) }},
	recall:   {"recall", func(time.Duration) redlatch.LockOption { return redlatch.WithRecall() }},
}

func (o option) String() string { return fmt.Sprint(options[o.Kind].name, " ", o.D) }

// visit is what one actor does next.
type visit struct {
	Actor  int
	Rest   time.Duration // before it
	What   what
	Name   int
	Owner  string // "": none; "own"; "shared" by the actors of a process
	Try    bool
	Opts   []option
	Limit  time.Duration // of its context; 0: none
	Work   time.Duration
	Inner  *visit // taken while this one is held
	Below  bool   // an inner one: taken under the context of the outer hold
	Last   bool   // an inner one: ends after the outer one
	Times  int    // an inner one: taken so often, one after another; 0: once
	Extend time.Duration
	Beside bool   // Extend and Unlock at once
	Stops  bool   // Shutdown of its process and Unlock at once
	End    string // "": Unlock; "detach"; "ticket", to others; "wait" for the end of the hold
}

func (v *visit) String() string {
	type fields visit // without this method
	own, inside := fields(*v), ""
	if own.Inner = nil; v.Inner != nil {
		inside = "\n\t\tinside: " + v.Inner.String()
	}
	return fmt.Sprintf("%+v%s", own, inside)
}

// option is the time of an option that is given.
func (v *visit) option(kind int) (d time.Duration, given bool) {
	i := slices.IndexFunc(v.Opts, func(o option) bool { return o.Kind == kind })
	if i < 0 {
		return 0, false
	}
	return v.Opts[i].D, true
}

func (v *visit) has(kind int) bool { _, given := v.option(kind); return given }

// waits says whether the call may wait, and for how long: 0 without a bound.
func (v *visit) waits() (bound time.Duration, does bool) {
	d, given := v.option(wait)
	switch {
	case given && d == 0 || !given && v.Try:
		return 0, false
	case given && (v.Limit == 0 || d < v.Limit):
		return d, true
	}
	return v.Limit, true
}

// refused says that the options do not go together, as docs/choosing.md has it.
func (v *visit) refused() bool {
	leased, fixed := v.option(lease)
	most, limited := v.option(maxHold)
	least, stays := v.option(minHold)
	plain := v.What == mutex || v.What == fair
	cohorts := plain && v.What != fair || v.What == write || v.What == read && !v.has(fencing)
	return v.has(cohort) && (!cohorts || fixed || limited || stays || v.has(note) || v.Owner != "") ||
		stays && (!plain || fixed && least > leased || limited && least > most) ||
		v.has(fencing) && v.What == permit
}

// longest is the longest time for which it may ask Redis to keep a lock.
func (v *visit) longest(lease time.Duration) time.Duration {
	all := max(lease, v.Extend)
	for _, o := range v.Opts {
		if o.Kind != wait && o.Kind != cohort && o.Kind != note && o.Kind != recall {
			all = max(all, o.D)
		}
	}
	if v.Inner != nil {
		all = max(all, v.Inner.longest(lease))
	}
	return all
}

// keeps is for how long others may find a lock taken by a visit, and by what it leaves.
func (v *visit) keeps(lease time.Duration) time.Duration {
	if v == nil {
		return 0
	}
	d, _ := v.option(minHold)
	if d = max(d, v.Work); v.End == "wait" || v.End == "detach" {
		d = v.longest(lease)
	}
	return d + v.Inner.keeps(lease)
}

// part is a single lock of a visit, and how it is held: mutex, which excludes all others, read, or permit.
type part struct {
	name string
	how  what
}

func (v *visit) parts() []part {
	switch {
	case v.What == multi && v.Name == 0:
		return []part{{"mutex0", mutex}, {"mutex1", mutex}}
	case v.What == multi:
		return []part{{"rw0", read}, {"fair0", mutex}, {"mutex1", mutex}}
	case v.What == read, v.What == permit:
		return []part{{v.What.name(v.Name), v.What}}
	}
	return []part{{v.What.name(v.Name), mutex}}
}
