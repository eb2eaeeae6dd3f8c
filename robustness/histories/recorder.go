package histories

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
)

// Recorder takes part in a history: its clients acquire and release real locks, and it notes the answers.
type Recorder struct {
	start  time.Time
	owners atomic.Int64

	mu         sync.Mutex
	operations []Operation
	doubts     map[string][2]int // how many permits there may be, beside those that there should be
}

func NewRecorder() *Recorder { return &Recorder{start: time.Now(), doubts: map[string][2]int{}} }

// Operations returns what has been recorded up to now.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.operations)
}

func (r *Recorder) now() time.Duration { return time.Since(r.start) }

func (r *Recorder) add(o Operation, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		o.Lock = name
		r.operations = append(r.operations, o)
	}
}

// Subject is a lock to acquire.
type Subject struct {
	Lock  redlatch.Lock
	Names []string // under which it is recorded: several for a Multi
	Read  bool
	// Exact says that the lock is refused for no other reason than its holders.
	Exact bool
}

// Held is one owner's holds of a subject, which it acquired one after another.
type Held struct {
	recorder *Recorder
	client   int
	wires    []*Wire
	owner    int
	holds    []*redlatch.Hold
	of       []Subject
	sure     time.Duration // the last moment at which all were valid for certain
	ended    bool          // that they may end is recorded
}

// Owner returns a new owner without holds. Its client has these wires.
func (r *Recorder) Owner(client int, wires []*Wire) *Held {
	return &Held{recorder: r, client: client, wires: wires, owner: int(r.owners.Add(1))}
}

// Acquire adds a hold, and says whether it was granted. It waits for no less than the limit, which ctx or the
// options set. An owner that has holds of the same lock needs a context of Client.WithOwner for all of them.
//
// A request without an answer may take the lock at any later moment. So may one for another waiter of the client
// that was under way when the time was up: it may have asked for this one as well. All other calls that fail
// take nothing. If they were recorded as if they might, each would be its own excuse, and that of all others.
func (h *Held) Acquire(ctx context.Context, s Subject, limit time.Duration, options ...redlatch.LockOption) bool {
	before := unheard(h.wires)
	o := h.operation(Acquire, s)
	o.Call = h.recorder.now()
	hold, err := s.Lock.Lock(ctx, options...)
	o.Return = h.recorder.now()
	sure := unheard(h.wires) == before && !errors.Is(err, redlatch.ErrUnknownOutcome)
	switch {
	case err == nil:
		o.Token = hold.Token()
		h.holds, h.of = append(h.holds, hold), append(h.of, s)
		h.recorder.add(o, s.Names)
		h.Valid()
	case sure && refused(err):
		if o.Refused = true; s.Exact {
			h.recorder.add(o, s.Names)
		}
	case sure:
		sure = idle(h.wires, h.recorder.start.Add(o.Call+limit))
	}
	if !sure {
		o.Refused, o.Unknown, o.Token, o.Return = false, true, 0, o.Call
		h.recorder.add(o, s.Names)
	}
	return err == nil
}

// refused says that the server named a holder, or when a permit may come back. A wait can also end before
// the first answer.
func refused(err error) bool {
	why, ok := errors.AsType[*redlatch.NotAcquiredError](err)
	return ok && why.TTL != 0
}

// Valid says whether all holds are valid.
func (h *Held) Valid() bool {
	now := h.recorder.now()
	for _, hold := range h.holds {
		if !hold.Valid() {
			return false
		}
	}
	h.sure = now
	return true
}

// Release releases one hold, counted from the oldest one, and says whether it was still there.
func (h *Held) Release(ctx context.Context, i int) bool {
	hold, s := h.holds[i], h.of[i]
	h.Valid()
	o := h.operation(Release, s)
	o.Call = h.recorder.now()
	err := hold.Unlock(ctx)
	o.Return = h.recorder.now()
	h.holds, h.of = slices.Delete(h.holds, i, i+1), slices.Delete(h.of, i, i+1)
	switch {
	case err == nil:
		h.recorder.add(o, s.Names)
	case errors.Is(err, redlatch.ErrLost), len(h.holds) == 0:
		h.end(min(o.Call, h.sure), s)
	default:
		o.Unknown, o.Return = true, o.Call
		h.recorder.add(o, s.Names)
	}
	return err == nil
}

// end records that the owner's holds may end at any moment from this one on.
func (h *Held) end(from time.Duration, s Subject) {
	if h.ended {
		return
	}
	h.ended = true
	o := h.operation(End, s)
	o.Call, o.Return = from, from
	h.recorder.add(o, s.Names)
}

func (h *Held) operation(verb Verb, s Subject) Operation {
	return Operation{Client: h.client, Verb: verb, Owner: h.owner, Read: s.Read}
}

// Look records the status of a lock, if the server gives it.
func (r *Recorder) Look(ctx context.Context, client int, name string, status func(context.Context) (redlatch.Status, error)) {
	o := Operation{Client: client, Verb: Look, Call: r.now()}
	st, err := status(ctx)
	if o.Return = r.now(); err != nil {
		return
	}
	owners := map[string]bool{} // an owner of both sides is listed twice
	for _, h := range st.Holders {
		owners[h.Owner] = true
	}
	o.Seen = Seen{Holders: len(owners), Read: st.Mode == redlatch.ModeRead, Write: st.Locked && st.Mode != redlatch.ModeRead}
	r.add(o, []string{name})
}
