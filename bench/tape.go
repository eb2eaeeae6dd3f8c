package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
)

// tape is what redlatch sends for one lock and unlock: the words of both commands.
// The raw limit replays it, so that both sides of the comparison ask the server for
// the very same work, whatever becomes of the scripts.
type tape struct {
	acquire, release []string
	name, owner      string // as they occur among the words
}

// record locks and unlocks once on a server and keeps the commands. Afterwards the
// server knows both scripts.
func record(ctx context.Context, address string) (tape, error) {
	d, err := rueidis.Open(ctx, rueidis.Options{Address: address})
	if err != nil {
		return tape{}, err
	}
	defer d.Close()
	recorder := &recorder{Driver: d}
	client, err := redlatch.New(recorder, redlatch.Config{})
	if err != nil {
		return tape{}, err
	}
	defer client.Close(ctx)

	recorded := tape{name: "redlatch-bench-recorded"}
	hold, err := client.Mutex(recorded.name).Lock(ctx)
	if err != nil {
		return tape{}, err
	}
	recorded.owner = hold.Owner()
	recorded.acquire = recorder.first()
	if err := hold.Unlock(ctx); err != nil {
		return tape{}, err
	}
	recorded.release = recorder.first()
	for _, words := range [][]string{recorded.acquire, recorded.release} {
		if len(words) == 0 || words[0] != "EVALSHA" {
			return tape{}, fmt.Errorf("recorded %q where a script was expected", words)
		}
	}
	return recorded, nil
}

// dub returns the words of both commands for another lock and owner.
func (t tape) dub(name, owner string) (acquire, release []string) {
	return t.replaced(t.acquire, name, owner), t.replaced(t.release, name, owner)
}

func (t tape) replaced(words []string, name, owner string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		switch word {
		case t.name:
			words[i] = name
		case channelOf(t.name):
			words[i] = channelOf(name)
		case t.owner:
			words[i] = owner
		}
	}
	return words
}

// recorder is a driver that remembers the first command since it was last asked:
// what follows it can only be its repetition with the script's source.
type recorder struct {
	driver.Driver

	mu    sync.Mutex
	words []string
}

// Do sends a command and remembers it.
func (r *recorder) Do(ctx context.Context, command driver.Command) driver.Reply {
	r.mu.Lock()
	if r.words == nil {
		r.words = command.Words
	}
	r.mu.Unlock()
	return r.Driver.Do(ctx, command)
}

func (r *recorder) first() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	words := r.words
	r.words = nil
	return words
}
