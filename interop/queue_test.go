//go:build interop

package interop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Goal: waiters of either side stand in the same list and the same sorted set, with the
// same deadlines but for one known difference, and leave them alike.
func sameQueue(t *testing.T, r rig) {
	theirs, ours := queueTranscript(t, r.theirs), queueTranscript(t, r.latch)
	// Redisson's waiters take their slots off all others when they acquire, and so each has a
	// slot more than the one before. Ours take nothing off.
	theirs[1] = strings.Replace(theirs[1], "O3 in 2m30s", "O3 in 1m30s", 1)
	for i := range theirs {
		if theirs[i] != ours[i] {
			t.Errorf("step %d\nJava leaves:\n%s\nwe leave:\n%s", i+1, theirs[i], ours[i])
		}
	}
}

// queueTranscript lets two threads queue behind a third, one give up and one get the lock.
func queueTranscript(t *testing.T, p peer) []string {
	t.Helper()
	const slot = 60 * time.Second
	name := redistest.Name(t)
	a := newClient(t, p, settings{watchdog: 30 * time.Second, fairWait: slot})
	owners := map[string]string{}
	var scenes []string
	look := func() {
		text := strings.ReplaceAll(snapshot(t, name), name, "N")
		var kept []string
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "redlatch:fair:") { // ours alone
				kept = append(kept, strings.Replace(line, "(1h0m0s)", "(none)", 1)) // the queue of ours expires
			}
		}
		text = strings.Join(kept, "")
		for owner, word := range owners {
			text = strings.ReplaceAll(text, owner, word)
		}
		scenes = append(scenes, text)
	}
	enqueue := func(thread, length int) <-chan answer {
		got := a.thread(thread).start(tryLock("fair", name).waiting(slot))
		redistest.Eventually(t, 10*time.Second, func() bool { return len(queue(t, name)) == length }, "the waiter is queued")
		owners[queue(t, name)[length-1]] = fmt.Sprint("O", thread)
		return got
	}

	owners[a.must(t, lock("fair", name)).Owner] = "O1"
	second := enqueue(2, 1)
	look()
	third := enqueue(3, 2)
	look()
	a.must(t, unlock("fair", name))
	if got := a.thread(2).await(t, command{Verb: "tryLock"}, second); !got.OK {
		t.Fatalf("%s: the next waiter got %+v", p.language(), got)
	}
	look()
	a.thread(2).must(t, unlock("fair", name))
	if got := a.thread(3).await(t, command{Verb: "tryLock"}, third); !got.OK {
		t.Fatalf("%s: the last waiter got %+v", p.language(), got)
	}
	look()
	a.mustNot(t, tryLock("fair", name).waiting(50*time.Millisecond))
	look()
	a.thread(3).must(t, unlock("fair", name))
	look()
	return scenes
}

// queue is the list of a fair lock.
func queue(t testing.TB, name string) []string {
	t.Helper()
	var owners []string
	for _, owner := range redistest.Shared(t).CLI(t, "LRANGE", protocol.FairQueue(name), "0", "-1").([]any) {
		owners = append(owners, owner.(string))
	}
	return owners
}
