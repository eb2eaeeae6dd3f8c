package demo

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
)

// shift is an actor that is told by a test when to leave.
type shift struct {
	*processes
	t     *testing.T
	task  task
	actor *process
	lock  *redlatch.Mutex
	file  counter
	said  []event
}

func openCounter(t *testing.T, path string) counter {
	t.Helper()
	file := must(os.OpenFile(path, os.O_RDWR, 0))
	t.Cleanup(func() { file.Close() })
	return counter{file}
}

func newCounter(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "counter")
	check(t, os.WriteFile(path, []byte("00000000000000000000"), 0o600))
	return path
}

// newShift is one whose actor has not started.
func newShift(t *testing.T) *shift {
	t.Helper()
	server := must(memory.Serve("127.0.0.1:0"))
	t.Cleanup(server.Close)
	url, path := "redis://"+server.Addr(), newCounter(t)
	client := must(redlatch.Open(t.Context(), url, redlatch.Config{}))
	t.Cleanup(func() { client.Close(t.Context()) })
	s := &shift{processes: actors(t, os.Args[0], acting), t: t, lock: client.Mutex("counter"), file: openCounter(t, path)}
	s.task = task{URL: url, Lock: "counter", Counter: path, Lease: 3 * time.Second, Rest: 2 * time.Millisecond}
	return s
}

func startShift(t *testing.T) *shift {
	t.Helper()
	s := newShift(t)
	s.actor = must(s.start(s.task))
	return s
}

// await returns the next event of a kind.
func (s *shift) await(k kind) event {
	s.t.Helper()
	for limit := time.After(20 * time.Second); ; {
		select {
		case e := <-s.events:
			if s.said = append(s.said, e); e.Kind == k {
				return e
			}
			if _, err := s.heard(e); e.Kind == gone {
				s.t.Fatalf("the actor ended before the event %q: %v", k, err)
			}
		case <-limit:
			s.t.Fatalf("no event %q among %+v", k, s.said)
		}
	}
}

// visit lets the actor stay inside for so long, and returns when it is inside.
func (s *shift) visit(stay time.Duration) {
	s.t.Helper()
	visit := s.await(enter).Visit
	time.AfterFunc(stay, func() { s.actor.tell(visit) })
}

// dismiss ends the actor and returns its last increment, the counter, and whether the
// lock is held.
func (s *shift) dismiss() (last event, number int64, locked bool) {
	s.t.Helper()
	check(s.t, s.end(func(e event) error {
		s.said = append(s.said, e)
		_, err := s.heard(e)
		return err
	}))
	for _, e := range s.said {
		if e.Kind == leave {
			last = e
		}
	}
	return last, must(s.file.read()), must(s.lock.Status(s.t.Context())).Locked
}

func TestAnActorAddsOneUnderTheLockAndSaysSo(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	for range 5 {
		if s.await(waiting).Client == "" {
			t.Error("it does not say who it is")
		}
		s.visit(time.Millisecond)
		s.await(resting)
	}
	last, number, locked := s.dismiss()
	r := newReferee()
	for _, e := range s.said {
		r.see(e)
	}
	if v := r.judge(number); !v.sound() || v.completed < 5 || v.entered != v.completed || last.Read+1 != number || locked {
		t.Errorf("report %+v, last %+v, locked: %v", v, last, locked)
	}
}

func TestAnActorDoesNotEnterWithoutTheLock(t *testing.T) {
	t.Parallel()
	s := newShift(t)
	hold := must(s.lock.Lock(t.Context()))
	must(s.start(s.task))
	s.await(waiting)
	_, number, _ := s.dismiss() // also from the wait
	if number != 0 || slices.ContainsFunc(s.said, func(e event) bool { return e.Kind == enter }) {
		t.Errorf("the counter is %d after %+v", number, s.said)
	}
	check(t, hold.Unlock(t.Context()))
}

// Goal: an actor stays until this visit is ended, and leaves at once with its increment when
// it is dismissed.
func TestAnActorStaysInsideUntilItsVisitIsEnded(t *testing.T) {
	t.Parallel()
	s := startShift(t)
	first := s.await(enter)
	s.actor.tell(first.Visit + 1) // not this one
	time.AfterFunc(300*time.Millisecond, func() { s.actor.tell(first.Visit) })
	if left := s.await(leave); left.At-first.At < int64(300*time.Millisecond) {
		t.Errorf("it stayed for %v", time.Duration(left.At-first.At))
	}
	s.visit(time.Hour)
	if last, number, locked := s.dismiss(); number != 2 || last.Read != 1 || locked {
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
	s.await(lost)
	if number := must(s.file.read()); number != 0 || slices.ContainsFunc(s.said, func(e event) bool { return e.Kind == leave }) {
		t.Errorf("the counter is %d after %+v", number, s.said)
	}
	s.await(enter) // it goes on, and nobody has ended that visit
	s.dismiss()
}

func TestTheCounterIsSharedThroughItsFile(t *testing.T) {
	t.Parallel()
	path := newCounter(t)
	one, other := openCounter(t, path), openCounter(t, path)
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
