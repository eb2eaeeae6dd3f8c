package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// rwColumns are what readers and writers do.
var rwColumns = []string{"reader enters", "reader enters again", "renewal", "writer is refused", "reader leaves", "writer enters", "writer leaves"}

var (
	readOnce  = script.Counts{Reads: 1}
	readTwice = script.Counts{Reads: 2}
	rwLock    = script.NewRW("rw", protocol.Plain)
)

// enter has readers take the lock, from number 0 on.
func (s *scaled) enter(ctx context.Context, readers int) error {
	var calls []script.Call
	for n := range readers {
		calls = append(calls, rwLock.Acquire(scaleOwner(n), readOnce, scaleLease, false))
	}
	return s.run(ctx, calls...)
}

// leave has readers release the lock.
func (s *scaled) leave(ctx context.Context, readers int) error {
	var calls []script.Call
	for n := range readers {
		calls = append(calls, rwLock.Release(scaleOwner(n), 1, none, scaleLease))
	}
	return s.run(ctx, calls...)
}

// rwCosts measures each script of a read-write lock with so many readers, and those of a writer
// without any.
func rwCosts(ctx context.Context, s *scaled, readers int) (samples, error) {
	cost := samples{}
	charge := func(columns []string, calls ...script.Call) error {
		for i, call := range calls {
			if err := s.charge(ctx, cost, columns[i], call); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.enter(ctx, readers); err != nil {
		return nil, err
	}
	for i := range s.samples {
		owner := scaleOwner(readers + i)
		if err := charge(rwColumns,
			rwLock.Acquire(owner, readOnce, scaleLease, false),
			rwLock.Acquire(owner, readTwice, scaleLease, false),
			script.Renew([]script.Renewal{rwLock.Renewal(owner, readTwice, false, scaleLease)}),
			rwLock.Acquire("w"+owner, once, scaleLease, true),
			rwLock.Release(owner, 2, none, scaleLease),
		); err != nil {
			return nil, err
		}
	}
	if err := s.leave(ctx, readers); err != nil {
		return nil, err
	}
	for i := range s.samples {
		writer := scaleOwner(i)
		if err := charge(rwColumns[5:], rwLock.Acquire(writer, once, scaleLease, true), rwLock.Release(writer, 0, none, scaleLease)); err != nil {
			return nil, err
		}
	}
	n, err := s.keys(ctx)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d keys are left", n)
	}
	return cost, err
}

const (
	figureLongestScript = "longest script, ms"
	figureWriterAfter   = "the writer had the lock after, s"
	figureKeysLeft      = "keys left"
)

// behindReaders has a writer wait for many readers, which leave or die.
func (b *bench) behindReaders() contest {
	n := b.plan.scale.behind
	behind := func(name string, end func(ctx context.Context, s *scaled) error) row {
		return b.scaleRow(name, func(ctx context.Context, s *scaled) (figures, error) { return s.writeBehind(ctx, end) })
	}
	return contest{
		name: "writer", part: "scale", extra: true, rounds: 1, title: fmt.Sprintf("A writer waits for %d readers", n),
		rows: []row{
			behind("all leave", func(ctx context.Context, s *scaled) error { return s.leave(ctx, n) }),
			behind("all but one die, and that one leaves", func(ctx context.Context, s *scaled) error { return s.die(ctx) }),
		},
		columns: []column{
			{figure: countScripts, format: "%.0f"}, {figure: figureLongestScript, format: "%.1f"},
			{figure: figureWriterAfter, format: "%.1f"}, {figure: figureKeysLeft, format: "%.0f"},
		},
	}
}

// die removes the timeout keys of all readers but the first one, as time would, and has that one leave.
func (s *scaled) die(ctx context.Context) error {
	for from := 1; from < s.behind; from += 1000 {
		words := []string{"UNLINK"}
		for n := from; n < min(from+1000, s.behind); n++ {
			words = append(words, protocol.ReadTimeoutKey("rw", scaleOwner(n), 1))
		}
		if err := s.do(ctx, words); err != nil {
			return err
		}
	}
	return s.leave(ctx, 1)
}

// writeBehind fills the lock with readers, has a writer of the library wait, and ends the readers.
func (s *scaled) writeBehind(ctx context.Context, end func(ctx context.Context, s *scaled) error) (figures, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := s.do(ctx, []string{"SLOWLOG", "RESET"}, []string{"CONFIG", "SET", "slowlog-log-slower-than", "1000"},
		[]string{"CONFIG", "SET", "slowlog-max-len", "100000"}); err != nil {
		return nil, err
	}
	before, err := s.work(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.enter(ctx, s.behind); err != nil {
		return nil, err
	}
	client, err := redlatch.New(s.driver, redlatch.Config{})
	if err != nil {
		return nil, err
	}
	defer client.Close(context.Background())
	written := make(chan error, 1)
	m := client.RWMutex("rw")
	writer := holds(func(ctx context.Context) (*redlatch.Hold, error) { return m.Lock(ctx) })
	go func() { written <- writer.once(ctx) }()
	began := time.Now()
	if err := end(ctx, s); err != nil {
		cancel()
		<-written
		return nil, err
	}
	if err := <-written; err != nil {
		return nil, err
	}
	f := figures{figureWriterAfter: time.Since(began).Seconds()}
	after, err := s.work(ctx)
	if err != nil {
		return nil, err
	}
	f[countScripts] = after.minus(before)[countScripts]
	if f[figureLongestScript], err = s.longestScript(ctx); err != nil {
		return nil, err
	}
	left, err := s.keys(ctx)
	f[figureKeysLeft] = float64(left)
	return f, err
}

// longestScript is the time of the longest script that took a millisecond or more.
func (s *scaled) longestScript(ctx context.Context) (millis float64, err error) {
	entries, err := s.command(ctx, "SLOWLOG", "GET", "100000").ToArray()
	for _, entry := range entries {
		fields, err := entry.ToArray()
		if err != nil {
			return 0, err
		}
		words, err := fields[3].AsStrSlice()
		if err != nil {
			return 0, err
		}
		took, err := fields[2].AsInt64()
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(strings.ToUpper(words[0]), "EVAL") {
			millis = max(millis, float64(took)/1e3)
		}
	}
	return millis, err
}
