package main

import (
	"slices"
	"testing"

	"github.com/redlatch/redlatch/internal/protocol"
)

func TestTapeIsDubbedForAnotherLockAndOwner(t *testing.T) {
	t.Parallel()
	recorded := tape{name: "a-lock", owner: "client:1", recorded: pair{
		lock:   [][]string{{"EVALSHA", "digest", "1", "a-lock", "client:1", "30000", "1"}},
		unlock: [][]string{{"HDEL", "a-lock", "client:1"}, {"PUBLISH", protocol.LockChannel("a-lock"), "0"}},
	}}
	got := recorded.renamed("b", "client:2")
	if want := []string{"EVALSHA", "digest", "1", "b", "client:2", "30000", "1"}; len(got.lock) != 1 || !slices.Equal(got.lock[0], want) {
		t.Errorf("the lock is %q, want %q", got.lock, want)
	}
	if want := [][]string{{"HDEL", "b", "client:2"}, {"PUBLISH", protocol.LockChannel("b"), "0"}}; !slices.EqualFunc(got.unlock, want, slices.Equal) {
		t.Errorf("the release is %q, want %q", got.unlock, want)
	}
	if recorded.recorded.lock[0][3] != "a-lock" {
		t.Error("the tape itself was changed")
	}
}

// Goal: the raw commands do what redlatch does. Method: a lock is taken with the
// recorded words and given back with them, on a real server; both say so.
func TestRecordedWordsLockAndUnlock(t *testing.T) {
	b := &bench{}
	if err := b.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer b.close()
	recorded, err := record(t.Context(), b.server.address)
	if err != nil {
		t.Fatal(err)
	}
	p := recorded.pair("some-lock")
	acquire, release := p.lock, p.unlock
	for _, step := range []struct {
		words []string
		want  int64
	}{
		{acquire[0], 1}, // granted
		{release[0], 1}, // released
		{release[1], 0}, // nobody listens
		{release[0], 0}, // it was held until then
	} {
		got, err := b.server.command(t.Context(), step.words...).ToInt64()
		if err != nil || got != step.want {
			t.Errorf("%q replied %d, %v; want %d", step.words, got, err, step.want)
		}
	}
}
