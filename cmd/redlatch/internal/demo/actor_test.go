package demo

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// shift is an actor in the test's own process, and the parent's end of it.
type shift struct {
	t      *testing.T
	lock   *redlatch.Mutex
	file   counter
	stdin  io.Closer
	orders *json.Encoder
	events chan event
	heard  []event
	ended  chan error
}

func honest(client *redlatch.Client, name string, _ bool) redlatch.Lock { return client.Mutex(name) }

func newCounter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "counter")
	check(t, os.WriteFile(path, nil, 0o600))
	return path
}

func startShift(t *testing.T) *shift {
	t.Helper()
	server := must(memory.Serve("127.0.0.1:0"))
	t.Cleanup(server.Close)
	client := must(redlatch.Open(t.Context(), "redis://"+server.Addr(), redlatch.Config{}))
	t.Cleanup(func() { client.Close(t.Context()) })
	path := newCounter(t)
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	s := &shift{t: t, lock: client.Mutex("counter"), file: must(openCounter(path)), stdin: stdin, orders: json.NewEncoder(stdin),
		events: make(chan event, 1000), ended: make(chan error, 1)}
	t.Cleanup(func() { s.file.Close() })
	go func() {
		s.ended <- Act(t.Context(), in, out, honest)
		out.Close()
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
	check(t, s.orders.Encode(task{Number: 1, URL: "redis://" + server.Addr(), Lock: "counter", Counter: path, Lease: 3 * time.Second, Rest: time.Millisecond}))
	return s
}

// await returns the next event of a kind.
func (s *shift) await(k kind) event {
	s.t.Helper()
	for limit := time.After(10 * time.Second); ; {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the actor ended before the event %q: %v", k, <-s.ended)
			}
			if s.heard = append(s.heard, e); e.Kind == k {
				return e
			}
		case <-limit:
			s.t.Fatalf("no event %q among %+v", k, s.heard)
		}
	}
}

// visit lets the actor stay inside for so long, and returns when it is inside.
func (s *shift) visit(stay time.Duration) event {
	s.t.Helper()
	e := s.await(enter)
	check(s.t, s.orders.Encode(order{e.Visit, stay}))
	return e
}

// dismiss ends the actor and returns the last event of a kind, the counter, and whether
// the lock is held.
func (s *shift) dismiss(k kind) (last event, number int64, locked bool) {
	s.t.Helper()
	check(s.t, s.stdin.Close())
	for e := range s.events {
		s.heard = append(s.heard, e)
	}
	check(s.t, <-s.ended)
	for _, e := range s.heard {
		if e.Kind == k {
			last = e
		}
	}
	return last, must(s.file.read()), must(s.lock.Status(s.t.Context())).Locked
}

func TestAnActorAddsOneUnderTheLockAndSaysSo(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	if s.await(ready).Client == "" {
		t.Error("it does not say who it is")
	}
	for range 5 {
		s.await(waiting)
		s.visit(time.Millisecond)
		s.await(resting)
	}
	last, number, locked := s.dismiss(leave)
	r := newReferee()
	for _, e := range s.heard {
		r.see(e)
	}
	if v := r.judge(number); !v.Sound() || v.Completed < 5 || v.Entered != v.Completed || last.Read+1 != number || locked {
		t.Errorf("verdict %+v, last %+v, locked: %v", v, last, locked)
	}
}

func TestAnActorDoesNotEnterWithoutTheLock(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	s.visit(0)
	s.await(resting)
	hold := must(s.lock.Lock(t.Context()))
	before := must(s.file.read())
	s.await(waiting)
	if last, after, _ := s.dismiss(leave); after != before || last.Read+1 != before { // also from the wait
		t.Errorf("the counter went from %d to %d; the last to leave: %+v", before, after, last)
	}
	check(t, hold.Unlock(t.Context()))
}

// Goal: an actor stays as long as it is ordered for this visit, and leaves at once with
// its increment when it is dismissed.
func TestAnActorStaysInsideForAsLongAsItIsOrdered(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	first := s.await(enter)
	check(t, s.orders.Encode(order{first.Visit + 1, 0})) // not for this one
	check(t, s.orders.Encode(order{first.Visit, 300 * time.Millisecond}))
	if left := s.await(leave); left.At-first.At < int64(300*time.Millisecond) {
		t.Errorf("it stayed for %v", time.Duration(left.At-first.At))
	}
	s.visit(time.Hour)
	if last, number, locked := s.dismiss(leave); number != 2 || last.Read != 1 || locked {
		t.Errorf("last to leave %+v, the counter is %d, locked: %v", last, number, locked)
	}
}

// Goal: an actor does not write once its hold is lost. Method: open the lock by force
// while it is inside; it learns of that by its next renewal.
func TestAnActorThatLosesItsHoldWritesNothing(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	s.visit(time.Hour)
	if !must(s.lock.ForceUnlock(t.Context())) {
		t.Fatal("the lock was free")
	}
	hold := must(s.lock.Lock(t.Context())) // so that it cannot go on
	s.await(lost)
	s.await(waiting)
	if _, number, _ := s.dismiss(leave); number != 0 || slices.ContainsFunc(s.heard, func(e event) bool { return e.Kind == leave }) {
		t.Errorf("the counter is %d after %+v", number, s.heard)
	}
	check(t, hold.Unlock(t.Context()))
}

func TestAnActorReportsThatRedisFailed(t *testing.T) {
	t.Parallel()
	in, stdin := io.Pipe()
	go json.NewEncoder(stdin).Encode(task{URL: "redis://127.0.0.1:1", Lock: "x", Counter: newCounter(t), Lease: time.Second})
	if err := Act(t.Context(), in, io.Discard, honest); err == nil {
		t.Error("no error")
	}
	stdin.Close()
}

func TestTheCounterIsSharedThroughItsFile(t *testing.T) {
	t.Parallel()
	path := newCounter(t)
	one, other := must(openCounter(path)), must(openCounter(path))
	defer one.Close()
	defer other.Close()
	for _, value := range []int64{0, 1, 1234567, 9} {
		if value > 0 {
			check(t, one.write(value))
		}
		if got := must(other.read()); got != value {
			t.Errorf("read %d, want %d", got, value)
		}
	}
	check(t, os.WriteFile(path, []byte("not a number of that width"), 0o600))
	if got, err := one.read(); err == nil {
		t.Errorf("nonsense was read as %d", got)
	}
}
