//go:build interop

package interop_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// bout is a few verbs of one thread that belong together.
type bout struct {
	h      *history
	random *rand.Rand
	actor  actor
	member int
	name   string // of the lock
	token  int64  // of its latest acquisition
	died   bool

	from time.Time // since when it is in a section; zero outside
	n    int       // how much of the lock it has there
}

// do runs one command, and reports whether it did what it should.
func (b *bout) do(c command) bool {
	if b.died {
		return false
	}
	sent := time.Now()
	got := b.h.ask(b.actor, c)
	if got.Error == died {
		b.died = true
		return false
	}
	if !b.from.IsZero() {
		b.h.note(b.member, members(b.name), stay{b.actor, b.from, sent, b.n, b.token})
		b.from = time.Time{}
	}
	switch {
	case unheard(c, got), unanswered(c, got):
		return false
	case got.Error != "":
		b.h.trouble("%s: %s of %s: %s (%s), from %v to %v", b.actor, c.Verb, c.Kind, got.Error, got.Why, got.from(), got.at())
		return false
	case !got.OK && (c.Verb != "tryLock"):
		b.h.trouble("%s: %s of %s is refused", b.actor, c.Verb, c.Kind)
	case got.OK && c.Kind == "fenced" && c.Verb != "unlock":
		b.token = got.Value
	}
	return got.OK
}

// unheard says that Redisson did not get the lock because a wait was over before its
// subscription was there: its own, which is an error for the fenced lock, or with 3.16.8
// that of another thread, after which the client's waits for that lock fail at once.
func unheard(c command, got answer) bool {
	return (c.Verb == "tryLock" || c.Verb == "lock") &&
		(strings.Contains(got.Error, "CancellationException") || strings.Contains(got.Error, "Unable to acquire subscription lock"))
}

// unanswered says that a wait of ours was over while Redis had not answered yet, and did not
// answer the release of what may have been taken within the grace either: a machine that is
// busy enough does that.
func unanswered(c command, got answer) bool {
	return c.Verb == "tryLock" && c.Wait >= 0 && strings.Contains(got.Error, "outcome unknown")
}

func (b *bout) chance(percent int) bool { return b.random.IntN(100) < percent }

// acquire takes the lock in one of the ways there are. The random numbers that it draws do
// not depend on the outcome.
func (b *bout) acquire(kind string) bool {
	c := tryLock(kind, b.name)
	way, longest := b.random.IntN(100), 1000
	switch kind {
	case "multi":
		longest = 200 // what is held meanwhile is in the way of others
	case "fair":
		longest = 4000 // a turn comes after those of all others, and a busy machine is slow
	}
	wait := time.Duration(100+b.random.IntN(longest)) * time.Millisecond
	switch {
	case way < 20, way < 50 && !b.waits(): // no wait
	case way < 50, kind == "fair", b.stuck():
		c = c.waiting(wait)
	default:
		// Not for the fair lock, where a Java waiter without a wait time that dies
		// blocks the others for five minutes.
		c = lock(kind, b.name)
	}
	// Not of several locks: Redisson takes the members for twice the wait, and lengthens that
	// when it has all, whoever holds them by then.
	if way%4 == 0 && (c.Verb == "lock" || c.Wait >= 0) && b.h.kind != "multi" {
		c = c.leased(10 * time.Second)
	}
	if !b.do(c) {
		b.h.denied.Add(1)
		return false
	}
	return true
}

// stuck says that a thread would hardly get on if its wait for several locks did not end.
// Redisson takes them in the order given, holds some while it waits for another, and gives
// all back after seconds: many that wait for one another hardly get on. So one in each Java
// process waits without end, and few of ours.
func (b *bout) stuck() bool {
	bold := map[string]int{"Java": 1, "Go": 3}[b.h.team[b.member].language]
	return b.h.kind == "multi" && b.actor.number > bold
}

// waits says that a thread may wait for a while. For a spin lock one of Redisson 3.16.8 may not: if its last request is
// answered after that while, the thread says that it was refused. It keeps the lock and renews it for ever.
func (b *bout) waits() bool { return !b.h.keeps || b.h.team[b.member].language != "Java" }

// section works inside the lock, up to the next command.
func (b *bout) section(shared bool) {
	if b.from, b.n = time.Now(), whole; shared {
		b.n = 1
	}
	time.Sleep(time.Duration(b.random.IntN(4)) * time.Millisecond)
}

// exclusive is a bout on a mutex, with a token or without, or on a fair lock.
func (b *bout) exclusive(kind string) {
	again := b.chance(30)
	if plain := b.chance(25); plain && kind == "fenced" {
		kind = "mutex"
	}
	if !b.acquire(kind) {
		return
	}
	b.section(false)
	if again && b.do(tryLock(kind, b.name)) {
		b.section(false)
		b.do(unlock(kind, b.name))
		b.section(false)
	}
	b.do(unlock(kind, b.name))
}

// several is a bout on some of the locks at once, in any order, or on one of them.
func (b *bout) several() {
	names := slices.Clone(b.h.locks)
	b.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	kind, n := "multi", 1+b.random.IntN(3)
	if n == 1 {
		kind = "mutex"
	}
	b.name = several(names[:n]...)
	if b.acquire(kind) {
		b.section(false)
		b.do(unlock(kind, b.name))
	}
}

// readWrite is a bout on one of the sides of a read-write lock, or on one after the other.
func (b *bout) readWrite() {
	kind, more := "read", b.random.IntN(100)
	if b.chance(40) {
		kind = "write"
	}
	if !b.acquire(kind) {
		return
	}
	shared := kind == "read"
	b.section(shared)
	switch {
	case more < 40:
	case more < 60: // once more on the same side
		if b.do(lock(kind, b.name)) {
			b.section(shared)
			b.do(unlock(kind, b.name))
			b.section(shared)
		}
	case kind == "write" && more < 80: // read inside
		if b.do(lock("read", b.name)) {
			b.section(false)
			b.do(unlock("read", b.name))
			b.section(false)
		}
	case kind == "write": // become a reader
		if b.do(lock("read", b.name)) {
			b.do(unlock("write", b.name))
			b.section(true)
			b.do(unlock("read", b.name))
			return
		}
	}
	b.do(unlock(kind, b.name))
}
