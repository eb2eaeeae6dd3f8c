package main

import (
	"context"
	"fmt"
	"strconv"
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
)

func rwLock() script.RW { return script.NewRW("rw", protocol.Plain) }

// enter has readers take the lock, from a first one to a last one.
func (s *scaled) enter(ctx context.Context, from, to int, lease time.Duration) error {
	calls := make([]script.Call, 0, to-from)
	for n := from; n < to; n++ {
		calls = append(calls, rwLock().Acquire(scaleOwner(n), readOnce, lease, false))
	}
	return s.run(ctx, calls...)
}

// leave has readers release the lock.
func (s *scaled) leave(ctx context.Context, from, to int) error {
	calls := make([]script.Call, 0, to-from)
	for n := from; n < to; n++ {
		calls = append(calls, rwLock().Release(scaleOwner(n), 1, none, scaleLease))
	}
	return s.run(ctx, calls...)
}

// rwScripts measures each script of a read-write lock by how many read.
func (s *scaled) rwScripts(ctx context.Context, p page) error {
	p.line("### Read-write lock: µs of Redis a script\n")
	var rows [][]string
	for _, readers := range s.readers {
		cost, err := s.rwCosts(ctx, readers)
		if err != nil {
			return fmt.Errorf("%d readers: %w", readers, err)
		}
		rows = append(rows, cost.row(strconv.Itoa(readers), rwColumns))
	}
	p.table(append([]string{"readers"}, rwColumns...), rows)
	return nil
}

func (s *scaled) rwCosts(ctx context.Context, readers int) (samples, error) {
	if err := s.enter(ctx, 0, readers, scaleLease); err != nil {
		return nil, err
	}
	lock, cost := rwLock(), samples{}
	steps := func(owner string) []script.Call {
		return []script.Call{
			lock.Acquire(owner, readOnce, scaleLease, false),
			lock.Acquire(owner, readTwice, scaleLease, false),
			script.Renew([]script.Renewal{lock.Renewal(owner, readTwice, false, scaleLease)}),
			lock.Acquire("w"+owner, once, scaleLease, true),
			lock.Release(owner, 2, none, scaleLease),
		}
	}
	for i := range s.samples {
		for j, call := range steps(scaleOwner(readers + i)) {
			if err := s.charge(ctx, cost, rwColumns[j], call); err != nil {
				return nil, err
			}
		}
	}
	if err := s.leave(ctx, 0, readers); err != nil {
		return nil, err
	}
	for i := range s.samples {
		writer := scaleOwner(i)
		for j, call := range []script.Call{lock.Acquire(writer, once, scaleLease, true), lock.Release(writer, 0, none, scaleLease)} {
			if err := s.charge(ctx, cost, rwColumns[len(rwColumns)-2+j], call); err != nil {
				return nil, err
			}
		}
	}
	return cost, s.nothingLeft(ctx)
}

// nothingLeft is an error if the server has a key.
func (s *scaled) nothingLeft(ctx context.Context) error {
	n, err := s.bench.meter.client.Do(ctx, s.bench.meter.client.B().Dbsize().Build()).AsInt64()
	if err == nil && n > 0 {
		err = fmt.Errorf("%d keys are left", n)
	}
	return err
}

// writerBehindReaders has a writer wait for a crowd of readers, which leave or die.
func (s *scaled) writerBehindReaders(ctx context.Context, p page) error {
	p.line("### A writer waits for %d readers\n", s.crowd)
	var rows [][]string
	for _, end := range []struct {
		what string
		how  func(context.Context) error
	}{
		{"all leave", func(ctx context.Context) error { return s.leave(ctx, 0, s.crowd) }},
		{"all but one die, and that one leaves", s.die},
	} {
		row, err := s.behind(ctx, end.how)
		if err != nil {
			return fmt.Errorf("%s: %w", end.what, err)
		}
		rows = append(rows, append([]string{end.what}, row...))
	}
	p.table([]string{"", "scripts", "longest script, ms", "the writer had the lock after, s", "keys left"}, rows)
	return nil
}

// die removes the timeout keys of all readers but the first one, as time would, and has that one leave.
func (s *scaled) die(ctx context.Context) error {
	for from := 1; from < s.crowd; from += 1000 {
		words := []string{"UNLINK"}
		for n := from; n < min(from+1000, s.crowd); n++ {
			words = append(words, protocol.ReadTimeoutKey("rw", scaleOwner(n), 1))
		}
		if err := s.command(ctx, words...); err != nil {
			return err
		}
	}
	return s.leave(ctx, 0, 1)
}

// behind fills the lock with readers, has a writer of the library wait, and ends the readers.
func (s *scaled) behind(ctx context.Context, end func(context.Context) error) (row []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
	for _, words := range [][]string{
		{"CONFIG", "RESETSTAT"}, {"SLOWLOG", "RESET"}, {"CONFIG", "SET", "slowlog-log-slower-than", "1000"}, {"CONFIG", "SET", "slowlog-max-len", "100000"},
	} {
		if err := s.command(ctx, words...); err != nil {
			return nil, err
		}
	}
	if err := s.enter(ctx, 0, s.crowd, scaleLease); err != nil {
		return nil, err
	}
	client, err := redlatch.New(s.driver, redlatch.Config{})
	if err != nil {
		return nil, err
	}
	defer client.Close(context.Background())
	written := make(chan error, 1)
	go func() { written <- write(ctx, client.RWMutex("rw")) }()
	began := time.Now()
	if err := end(ctx); err != nil {
		cancel()
		<-written
		return nil, err
	}
	if err := <-written; err != nil {
		return nil, err
	}
	took := time.Since(began)
	work, err := s.bench.meter.work(ctx)
	if err != nil {
		return nil, err
	}
	longest, err := s.longestScript(ctx)
	if err != nil {
		return nil, err
	}
	left, err := s.bench.meter.client.Do(ctx, s.bench.meter.client.B().Dbsize().Build()).AsInt64()
	return []string{strconv.FormatInt(work.scripts, 10), fmt.Sprintf("%.1f", longest), fmt.Sprintf("%.1f", took.Seconds()), strconv.FormatInt(left, 10)}, err
}

// write takes the lock as a writer and releases it.
func write(ctx context.Context, m *redlatch.RWMutex) error {
	hold, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return hold.Unlock(ctx)
}

// longestScript is the time of the longest script that took a millisecond or more.
func (s *scaled) longestScript(ctx context.Context) (millis float64, err error) {
	entries, err := s.bench.meter.client.Do(ctx, s.bench.meter.client.B().SlowlogGet().Count(100_000).Build()).ToArray()
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
