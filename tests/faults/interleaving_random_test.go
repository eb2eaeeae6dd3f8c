package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Random: shared owners used by several goroutines on both sides of read-write locks,
// contexts that end, lost requests and replies, two clients. Nobody overlaps, no error
// beyond those documented, and in the end nothing is left.
func TestLongSharedOwnersAtRandomLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	cfg := redlatch.Config{LeaseTime: 5 * time.Second, PollCap: 200 * time.Millisecond, CommandTimeout: 300 * time.Millisecond, ReleaseTimeout: time.Second}
	stage.Story(t, cfg, func(t *testing.T, s *stage.Stage) {
		r := &sharedOwners{t: t, clients: []*redlatch.Client{s.Client, s.Other(cfg)}}
		s.Driver.Spoil(stage.LosesOneOf(20, rand.IntN))
		end := time.Now().Add(time.Duration(redistest.Stretch(1)) * time.Second)
		var work sync.WaitGroup
		for owner := range 6 {
			c := r.clients[owner%2]
			ctx := c.WithOwner(s.Limited())
			for range 3 {
				work.Go(func() {
					for time.Now().Before(end) {
						r.visit(ctx, c, owner)
					}
				})
			}
		}
		work.Wait()
		s.Driver.Spoil(nil)
		r.report()
		time.Sleep(31 * time.Second)
		check.NothingIn(t, r.clients)
		if keys := s.Memory.Miniredis().Keys(); len(keys) != 0 {
			t.Errorf("left over: %v", keys)
		}
	})
}

// sharedOwners is one run: who is inside of four locks, and what was not to happen.
type sharedOwners struct {
	t       *testing.T
	clients []*redlatch.Client
	grants  atomic.Int64

	mu            sync.Mutex
	reads, writes [4][6]int // holds inside, by lock and owner
	odd           map[string]bool
}

// visit takes a lock at random, stays inside for a moment and leaves.
func (r *sharedOwners) visit(ctx context.Context, c *redlatch.Client, owner int) {
	i := rand.IntN(4)
	name := fmt.Sprint("l", i)
	read := i > 1 && rand.IntN(2) == 0
	l := stage.WriteOf(c, name)
	switch {
	case i == 0:
		l = stage.MutexOf(c, name)
	case i == 1:
		l = stage.FairOf(c, name)
	case read:
		l = stage.ReadOf(c, name)
	}
	limited, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(400))*time.Millisecond)
	h, err := l.Lock(limited)
	cancel()
	if err != nil {
		// A deadline is the bound of one command.
		r.expect("lock", err, redlatch.ErrNotAcquired, redlatch.ErrUnknownOutcome, redlatch.ErrUpgrade, context.DeadlineExceeded)
		return
	}
	r.grants.Add(1)
	r.enter(i, owner, read, 1)
	time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
	if !h.Valid() {
		r.expect("lost", fmt.Errorf("it is not valid: %w", h.Err()))
	}
	r.enter(i, owner, read, -1)
	if err := h.Unlock(limited); err != nil {
		r.expect("unlock", err, redlatch.ErrUnknownOutcome)
	}
}

// enter counts a hold of an owner in or out, and fails if two that exclude each other are inside.
func (r *sharedOwners) enter(i, owner int, read bool, by int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if read {
		r.reads[i][owner] += by
	} else {
		r.writes[i][owner] += by
	}
	for writer, n := range r.writes[i] {
		for other := range r.writes[i] {
			if n > 0 && other != writer && r.writes[i][other]+r.reads[i][other] > 0 {
				r.t.Errorf("lock %d: %d writes while %d is inside", i, writer, other)
			}
		}
	}
}

// expect notes an error that matches none of those that may be.
func (r *sharedOwners) expect(what string, err error, allowed ...error) {
	if slices.ContainsFunc(allowed, func(target error) bool { return errors.Is(err, target) }) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.odd == nil {
		r.odd = make(map[string]bool)
	}
	r.odd[what+": "+err.Error()] = true
}

// report fails the test for what was noted, a few errors of it.
func (r *sharedOwners) report() {
	r.t.Log("grants:", r.grants.Load())
	for i, odd := range slices.Collect(maps.Keys(r.odd)) {
		if i < 12 {
			r.t.Error("odd:", odd)
		}
	}
}
