//go:build interop

package interop_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: both sides count tokens by one counter: each hold of either has the next number,
// however the one before it ended, and nobody who does not get the lock uses one up.
// Method: two threads of each side take turns at random, and so do the ways to end a hold.
func tokens(t *testing.T, r rig) {
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	s := settings{watchdog: 30 * time.Second}
	java, latch := newClient(t, r.theirs, s), newClient(t, r.latch, s)
	all := []actor{java, latch, java.thread(2), latch.thread(2)}
	name := redistest.Name(t)
	last := int64(0)
	for _, end := range shuffled(random, 8, released, forcedAway, expired, handedOver) {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, got := range end(t, name, all) {
			if last++; got != last {
				t.Fatalf("%v get the token %d, want %d", all, got, last)
			}
		}
		for _, a := range all {
			if got := a.must(t, verb("token", "fenced", name)).Value; got != last {
				t.Errorf("%v knows of the token %d, the last was %d", a, got, last)
			}
		}
		if got := redistest.Shared(t).PTTL(t, protocol.TokenKey(name)); got >= 0 {
			t.Fatalf("the count of the tokens ends in %v", got)
		}
	}
	empty(t, name)
}

// An ending has a thread take the lock, shows that the others cannot, and ends the hold in
// some way. It returns the tokens in the order in which they were issued.
type ending func(t *testing.T, name string, all []actor) []int64

// shuffled are n of each ending in a random order.
func shuffled(random *rand.Rand, n int, endings ...ending) []ending {
	all := slices.Repeat(endings, n)
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func released(t *testing.T, name string, all []actor) []int64 {
	token := all[0].must(t, tryLock("fenced", name)).Value
	keptOff(t, name, all)
	all[0].must(t, unlock("fenced", name))
	all[2].must(t, tryLock("mutex", name)) // a plain hold has no token
	all[2].must(t, unlock("mutex", name))
	return []int64{token}
}

func forcedAway(t *testing.T, name string, all []actor) []int64 {
	token := all[0].must(t, lock("fenced", name)).Value
	keptOff(t, name, all)
	all[1].must(t, forceUnlock("fenced", name))
	all[0].lost(t, unlock("fenced", name))
	return []int64{token}
}

// expired has a second thread wait until the lease of the first has ended.
func expired(t *testing.T, name string, all []actor) []int64 {
	first := all[0].must(t, lock("fenced", name).leased(100*time.Millisecond)).Value
	second := all[1].must(t, lock("fenced", name)).Value
	all[0].lost(t, unlock("fenced", name))
	keptOff(t, name, all[1:])
	all[1].must(t, unlock("fenced", name))
	return []int64{first, second}
}

// handedOver has the others wait, and each unlock as soon as it has entered.
func handedOver(t *testing.T, name string, all []actor) []int64 {
	issued := []int64{all[0].must(t, lock("fenced", name)).Value}
	wanted := lock("fenced", name)
	entered, left := make([]<-chan answer, 0, len(all)), make([]<-chan answer, 0, len(all))
	for _, a := range all[1:] {
		entered = append(entered, a.start(wanted))
	}
	for _, a := range all[1:] {
		a.parked(t)
		left = append(left, a.start(unlock("fenced", name))) // which follows its lock
	}
	all[0].must(t, unlock("fenced", name))
	for i, a := range all[1:] {
		issued = append(issued, a.await(t, wanted, entered[i]).Value)
		if got := a.await(t, wanted, left[i]); got.Error != "" {
			t.Errorf("%v: %+v", a, got)
		}
	}
	slices.Sort(issued[1:]) // the order is theirs to choose
	return issued
}

// keptOff shows that nobody but the first gets the lock.
func keptOff(t *testing.T, name string, all []actor) {
	t.Helper()
	for _, a := range all[1:] {
		a.mustNot(t, tryLock("fenced", name))
		a.mustNot(t, tryLock("mutex", name))
	}
}

// Goal: where our tokens follow the clock, Java's go on from them, and ours from Java's.
func tokensByTheClock(t *testing.T, r rig) {
	s := settings{watchdog: 30 * time.Second, tokenClock: true}
	java, latch := newClient(t, r.theirs, s), newClient(t, r.latch, s)
	name := redistest.Name(t)
	take := func(a actor) int64 {
		token := a.must(t, tryLock("fenced", name)).Value
		a.must(t, unlock("fenced", name))
		return token
	}
	last := take(java)
	for range 5 {
		clock := time.Now().UnixMicro()
		if got := take(latch); got <= last || got < clock {
			t.Errorf("our token is %d at %d µs and after %d", got, clock, last)
		} else {
			last = got
		}
		for range 2 {
			if got := take(java); got != last+1 {
				t.Errorf("Java's token is %d after %d", got, last)
			}
			last++
		}
	}
	if got := redistest.Shared(t).PTTL(t, protocol.TokenKey(name)); got >= 0 {
		t.Errorf("the count of the tokens ends in %v", got)
	}
}
