package robustness

import (
	"testing"
	"time"
)

// holding is a hold that is valid for as long as it says.
type holding struct{ valid bool }

func (h *holding) Valid() bool { return h.valid }

// scene is a register with holders that write when they are told to.
type scene struct {
	*testing.T
	register *register
	writers  map[string]*writer
}

func newScene(t *testing.T) *scene {
	return &scene{T: t, register: &register{clock: clock{time.Now()}}, writers: make(map[string]*writer)}
}

func (s *scene) enter(who string, token int64) *holding {
	h := &holding{valid: true}
	s.writers[who] = &writer{register: s.register, hold: h, span: &span{lock: "a", token: token}}
	return h
}

// write has holders write in this order.
func (s *scene) write(order ...string) {
	for _, who := range order {
		s.writers[who].write()
	}
}

func (s *scene) want(open, guarded, refused int) {
	s.Helper()
	o, g, r := s.register.counts()
	if o != open || g != guarded || r != refused {
		s.Errorf("%d stale writes without a guard, %d with one and %d refused; want %d, %d, %d", o, g, r, open, guarded, refused)
	}
}

func TestHoldersInTurnWriteNothingStale(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.enter("one", 1)
	s.enter("two", 2)
	s.write("one", "one", "two", "two")
	s.want(0, 0, 0)
}

func TestALateWriteIsStaleAndTheGuardRefusesIt(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.enter("one", 1)
	s.enter("two", 2)
	s.write("one", "two", "one", "one", "two")
	s.want(2, 0, 2)
}

func TestATokenThatIsGivenTwiceLetsStaleWritesThrough(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.enter("one", 5)
	s.enter("two", 5)
	s.write("one", "two", "one", "two")
	s.want(1, 1, 0)
}

func TestATokenThatGoesBackShutsTheNewHolderOut(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.enter("one", 5)
	s.enter("two", 4)
	s.write("one", "two", "one", "two")
	s.want(1, 0, 2)
}

func TestNothingIsWrittenWithoutAValidHold(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	h := s.enter("one", 0)
	s.enter("two", 0)
	s.write("one", "two")
	s.register.clock.start = s.register.clock.start.Add(-time.Hour)
	s.write("two")
	if got := s.writers["two"].span.sure; got < time.Hour {
		t.Errorf("the last write was after an hour, and it was sure up to %v", got)
	}
	sure := s.writers["one"].span.sure
	h.valid = false
	if s.writers["one"].write() {
		t.Error("a hold that is not valid wrote")
	}
	if got := s.writers["one"].span.sure; got != sure {
		t.Errorf("it was sure up to %v, and then up to %v", sure, got)
	}
	s.want(0, 0, 0)
}
