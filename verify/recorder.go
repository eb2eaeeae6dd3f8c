package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Line is an event as a Recorder writes it. Later versions may have more fields.
type Line struct {
	At    time.Time `json:"at"`    // when it happened: for an end, the last moment at which the hold was relied on
	Clock string    `json:"clock"` // that At and Since are read from: of a machine, or of a container
	Space string    `json:"space"` // in which locks of one name are one lock
	Event string    `json:"event"` // a redlatch.EventKind
	Lock  string    `json:"lock"`
	Kind  string    `json:"kind"` // a redlatch.LockKind
	Owner string    `json:"owner"`
	Token int64     `json:"token"`
	Since time.Time `json:"since"`   // when the hold was acquired
	Left  int64     `json:"left_us"` // microseconds from At to the deadline of the hold
	Loss  string    `json:"loss"`    // a redlatch.Loss
}

// Recorder is an observer that writes events.
type Recorder struct {
	clock, space string

	mu  sync.Mutex
	out io.Writer
	err atomic.Pointer[error] // written with the mutex held
}

var _ redlatch.Observer = (*Recorder)(nil)

// NewRecorder returns a recorder that writes each event with one Write, at most one at a time. Lock and Unlock
// wait for it, so out should not block: a file, or a buffer.
//
// Locks of one name are compared if they have one space. All processes that use one Redis give the same, such as its
// name, and each Redis has one of its own. A Quorum has members on several servers: its clients need a recorder each.
func NewRecorder(out io.Writer, space string) *Recorder {
	return &Recorder{clock: clock(), space: space, out: out}
}

// clock names the clock of this process. Processes that have the same name have the same clock.
func clock() string {
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if boot = bytes.TrimSpace(boot); len(boot) > 8 {
		return host + "/" + string(boot[:8])
	}
	return host
}

// Observe writes the event. After an error it writes no more.
func (r *Recorder) Observe(_ context.Context, e redlatch.Event) {
	now, at := time.Now(), time.Now().Round(0)
	switch e.Kind {
	case redlatch.EventReleased, redlatch.EventDetached, redlatch.EventClosed, redlatch.EventLost:
		at = at.Add(-now.Sub(e.Since.Add(e.Took)))
	}
	text, err := json.Marshal(Line{
		At: at.UTC(), Clock: r.clock, Space: r.space, Event: string(e.Kind), Lock: protocol.Argument(e.Lock), Kind: string(e.LockKind),
		Owner: protocol.Argument(e.Owner), Token: e.Token, Since: e.Since.Round(0).UTC(), Left: e.Left.Microseconds(), Loss: string(e.Loss),
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err.Load() != nil {
		return
	}
	if err == nil {
		_, err = r.out.Write(append(text, '\n'))
	}
	if err != nil {
		r.err.Store(&err)
	}
}

// Err is the error that ended the recording, nil while it goes on. It does not wait for a Write.
func (r *Recorder) Err() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}
