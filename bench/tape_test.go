package main

import (
	"slices"
	"testing"
)

func TestTapeIsDubbedForAnotherLockAndOwner(t *testing.T) {
	t.Parallel()
	recorded := tape{
		name:    "a",
		owner:   "client:1",
		acquire: [][]string{{"EVALSHA", "digest", "1", "a", "client:1", "30000", "1"}},
		release: [][]string{{"HDEL", "a", "client:1"}, {"PUBLISH", channelOf("a"), "0"}},
	}
	acquire, release := recorded.dub("b", "client:2")
	if want := []string{"EVALSHA", "digest", "1", "b", "client:2", "30000", "1"}; len(acquire) != 1 || !slices.Equal(acquire[0], want) {
		t.Errorf("acquire is %q, want %q", acquire, want)
	}
	if want := [][]string{{"HDEL", "b", "client:2"}, {"PUBLISH", channelOf("b"), "0"}}; !slices.EqualFunc(release, want, slices.Equal) {
		t.Errorf("release is %q, want %q", release, want)
	}
	if recorded.acquire[0][3] != "a" {
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
	words, err := replay(t.Context(), b.server.address)
	if err != nil {
		t.Fatal(err)
	}
	acquire, release := words("some-lock")
	for _, step := range []struct {
		words []string
		want  int64
	}{
		{acquire[0], 1}, // granted
		{release[0], 1}, // released
		{release[1], 0}, // nobody listens
		{release[0], 0}, // it was held until then
	} {
		got, err := b.meter.client.Do(t.Context(), b.meter.client.B().Arbitrary(step.words...).Build()).ToInt64()
		if err != nil || got != step.want {
			t.Errorf("%q replied %d, %v; want %d", step.words, got, err, step.want)
		}
	}
}
