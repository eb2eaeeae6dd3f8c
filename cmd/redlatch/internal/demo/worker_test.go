package demo

import (
	"encoding/json"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// shift is a worker that runs in the test's own process, and the parent's end of it.
type shift struct {
	t      *testing.T
	lock   *redlatch.Mutex
	reader *journalReader
	file   *counter
	folder string
	stdin  io.Closer
	events chan event
	ended  chan error
}

func honest(client *redlatch.Client, name string, _ bool) redlatch.Lock { return client.Mutex(name) }

func startShift(t *testing.T, work time.Duration) *shift {
	t.Helper()
	server := must(memory.Serve("127.0.0.1:0"))
	t.Cleanup(server.Close)
	client := must(redlatch.Open(t.Context(), "redis://"+server.Addr(), redlatch.Config{}))
	t.Cleanup(func() { client.Close(t.Context()) })
	folder := t.TempDir()
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	s := &shift{t: t, lock: client.Mutex("counter"), file: must(openCounter(folder)), folder: folder, stdin: stdin,
		events: make(chan event, 1000), ended: make(chan error, 1)}
	must(openJournal(folder)).close()
	s.reader = must(readJournal(folder))
	t.Cleanup(func() { s.file.close(); s.reader.close() })

	go func() {
		err := Work(t.Context(), in, out, honest)
		out.Close()
		s.ended <- err
	}()
	go func() {
		defer close(s.events)
		for lines := json.NewDecoder(stdout); ; {
			var e event
			if lines.Decode(&e) != nil {
				return
			}
			s.events <- e
		}
	}()
	check(t, json.NewEncoder(stdin).Encode(task{Worker: 1, URL: "redis://" + server.Addr(), Lock: "counter", Folder: folder, Lease: 3 * time.Second, Work: work}))
	return s
}

// await returns the next event of a kind.
func (s *shift) await(kind eventKind) event {
	s.t.Helper()
	limit := time.After(10 * time.Second)
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the worker ended before the event %q: %v", kind, <-s.ended)
			}
			if e.Kind == kind {
				return e
			}
		case <-limit:
			s.t.Fatalf("no event %q", kind)
		}
	}
}

// dismiss ends the worker and returns what is in its journal.
func (s *shift) dismiss() []record {
	s.t.Helper()
	check(s.t, s.stdin.Close())
	select {
	case err := <-s.ended:
		check(s.t, err)
	case <-time.After(10 * time.Second):
		s.t.Fatal("the worker did not leave")
	}
	return must(s.reader.next())
}

func TestAWorkerAddsOneUnderTheLockAndNotesIt(t *testing.T) {
	t.Parallel()
	s := startShift(t, time.Millisecond)
	if e := s.await(ready); e.Client == "" {
		t.Error("it does not say who it is")
	}
	for n := range 5 {
		s.await(waiting)
		s.await(holding)
		if e := s.await(resting); e.Done != n+1 {
			t.Errorf("%d done, want %d", e.Done, n+1)
		}
	}
	r := newReferee()
	for _, rec := range s.dismiss() {
		r.see(rec)
	}
	if v := r.judge(must(s.file.read())); !v.Sound() || v.Completed < 5 || v.Entered != v.Completed {
		t.Errorf("verdict %+v", v)
	}
	if status := must(s.lock.Status(t.Context())); status.Locked {
		t.Errorf("it left the lock behind: %+v", status)
	}
}

func TestAWorkerDoesNotEnterWithoutTheLock(t *testing.T) {
	t.Parallel()
	s := startShift(t, time.Millisecond)
	s.await(resting)
	hold := must(s.lock.Lock(t.Context()))
	before := must(s.file.read())
	s.await(waiting)
	records := s.dismiss() // also from the wait
	if after := must(s.file.read()); after != before {
		t.Errorf("the counter went from %d to %d", before, after)
	}
	if n := len(records); records[n-1].Kind != leave || records[n-1].Read+1 != before {
		t.Errorf("the journal ends with %+v", records[n-1])
	}
	check(t, hold.Unlock(t.Context()))
}

func TestAWorkerStaysInsideForAsLongAsItIsOrdered(t *testing.T) {
	t.Parallel()
	s := startShift(t, 0)
	s.await(ready)
	check(t, order{Stay: 300 * time.Millisecond}.give(s.folder))
	for s.await(holding).Stay == 0 {
		continue
	}
	began := time.Now()
	s.await(resting)
	if stayed := time.Since(began); stayed < 250*time.Millisecond {
		t.Errorf("it stayed for %v", stayed)
	}
	s.dismiss()
}

func TestADismissedWorkerFinishesItsIncrementAtOnce(t *testing.T) {
	t.Parallel()
	s := startShift(t, 0)
	s.await(ready)
	check(t, order{Stay: time.Hour}.give(s.folder))
	for s.await(holding).Stay == 0 {
		continue
	}
	records := s.dismiss()
	if last := records[len(records)-1]; last.Kind != leave || must(s.file.read()) != last.Read+1 {
		t.Errorf("the journal ends with %+v, the counter is %d", last, must(s.file.read()))
	}
	if status := must(s.lock.Status(t.Context())); status.Locked {
		t.Errorf("it left the lock behind: %+v", status)
	}
}

// Goal: a worker does not write once its hold is lost. Method: open the lock by
// force while it is inside; it learns of that by its next renewal.
func TestAWorkerThatLosesItsHoldWritesNothing(t *testing.T) {
	t.Parallel()
	s := startShift(t, 0)
	s.await(ready)
	check(t, order{Stay: time.Hour}.give(s.folder))
	for s.await(holding).Stay == 0 {
		continue
	}
	before := must(s.file.read())
	if !must(s.lock.ForceUnlock(t.Context())) {
		t.Fatal("the lock was free")
	}
	hold := must(s.lock.Lock(t.Context())) // so that it cannot go on
	s.await(lost)
	if after := must(s.file.read()); after != before {
		t.Errorf("the counter went from %d to %d", before, after)
	}
	s.await(waiting)
	records := s.dismiss()
	if !slices.ContainsFunc(records, func(r record) bool { return r.Kind == quit }) {
		t.Errorf("no word of it in the journal: %+v", records)
	}
	check(t, hold.Unlock(t.Context()))
}

func TestAWorkerReportsThatRedisFailed(t *testing.T) {
	t.Parallel()
	in, stdin := io.Pipe()
	go json.NewEncoder(stdin).Encode(task{Worker: 1, URL: "redis://127.0.0.1:1", Lock: "x", Folder: t.TempDir(), Lease: time.Second})
	if err := Work(t.Context(), in, io.Discard, honest); err == nil {
		t.Error("no error")
	}
	stdin.Close()
}
