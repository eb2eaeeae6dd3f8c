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

// tape is what redlatch sends for one lock and unlock: the words of the commands of both
// requests. The raw commands replay it, so that both sides of the comparison ask the server for
// the very same work, whatever redlatch sends.
type tape struct {
	acquire, release [][]string
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
	if len(recorded.acquire) != 1 || recorded.acquire[0][0] != "EVALSHA" || len(recorded.release) == 0 {
		return tape{}, fmt.Errorf("recorded %q and %q where a script and a release were expected", recorded.acquire, recorded.release)
	}
	return recorded, nil
}

// dub returns the words of both requests for another lock and owner.
func (t tape) dub(name, owner string) (acquire, release [][]string) {
	return t.replaced(t.acquire, name, owner), t.replaced(t.release, name, owner)
}

func (t tape) replaced(commands [][]string, name, owner string) (all [][]string) {
	for _, words := range commands {
		all = append(all, t.renamed(words, name, owner))
	}
	return all
}

func (t tape) renamed(words []string, name, owner string) []string {
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

// recorder is a driver that remembers the first request since it was last asked:
// what follows it can only be its repetition with the script's source.
type recorder struct {
	driver.Driver

	mu      sync.Mutex
	request [][]string
}

// Do sends a command and remembers it.
func (r *recorder) Do(ctx context.Context, command driver.Command) driver.Reply {
	r.remember(command)
	return r.Driver.Do(ctx, command)
}

// Pipeline sends commands and remembers them.
func (r *recorder) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	r.remember(commands...)
	return r.Driver.Pipeline(ctx, commands...)
}

func (r *recorder) remember(commands ...driver.Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.request != nil {
		return
	}
	for _, command := range commands {
		r.request = append(r.request, command.Words)
	}
}

func (r *recorder) first() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := r.request
	r.request = nil
	return request
}
