package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
)

// tape is what redlatch sends for one lock and unlock. The raw commands replay it, so that both sides
// of the comparison ask the server for the very same work, whatever redlatch sends.
type tape struct {
	recorded    pair
	name, owner string // as they occur among the words
}

// record locks and unlocks once on a server and keeps the commands. Afterwards the server knows the
// scripts.
func record(ctx context.Context, address string) (t tape, err error) {
	d, err := rueidis.Open(ctx, rueidis.Options{Address: address})
	if err != nil {
		return t, err
	}
	defer d.Close()
	recorder := &recorder{Driver: d}
	client, err := redlatch.New(recorder, redlatch.Config{})
	if err != nil {
		return t, err
	}
	defer client.Close(ctx)

	t.name = "redlatch-bench-recorded"
	hold, err := client.Mutex(t.name).Lock(ctx)
	if err != nil {
		return t, err
	}
	t.owner = hold.Owner()
	t.recorded.lock = recorder.first()
	if err := hold.Unlock(ctx); err != nil {
		return t, err
	}
	t.recorded.unlock = recorder.first()
	if lock := t.recorded.lock; len(lock) != 1 || lock[0][0] != "EVALSHA" || len(t.recorded.unlock) == 0 {
		return t, fmt.Errorf("recorded %q and %q where a script and a release were expected", lock, t.recorded.unlock)
	}
	return t, nil
}

var replays atomic.Int64

// pair returns the words for another lock, each time with an owner of its own.
func (t tape) pair(name string) pair {
	client, _, _ := strings.Cut(t.owner, ":")
	return t.renamed(name, protocol.Owner(client, replays.Add(1)))
}

func (t tape) renamed(name, owner string) pair {
	rename := strings.NewReplacer(t.name, name, t.owner, owner)
	renamed := func(commands [][]string) (all [][]string) {
		for _, words := range commands {
			words = slices.Clone(words)
			for i := range words {
				words[i] = rename.Replace(words[i])
			}
			all = append(all, words)
		}
		return all
	}
	return pair{lock: renamed(t.recorded.lock), unlock: renamed(t.recorded.unlock)}
}

// recorder is a driver that remembers the first request since it was last asked: what follows it can
// only be its repetition with the script's source.
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
