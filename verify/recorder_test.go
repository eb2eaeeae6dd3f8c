package verify_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/verify"
)

// Goal: what real clients record has no findings, until somebody takes a lock away from its holder.
func TestARecordOfRealClientsIsChecked(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	recorder := verify.NewRecorder(&out, "test")
	open := func() *redlatch.Client {
		c, err := redlatch.Open(t.Context(), "memory://verify", redlatch.Config{Observer: recorder})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := open(), open()
	lock := func(l redlatch.Lock, opts ...redlatch.LockOption) *redlatch.Hold {
		h, err := l.Lock(t.Context(), opts...)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	for _, opts := range [][]redlatch.LockOption{nil, {redlatch.WithFencing()}, {redlatch.WithCohort(time.Second)}} {
		for range 20 {
			for _, c := range []*redlatch.Client{a, b} {
				_ = lock(c.Mutex("stock"), opts...).Unlock(t.Context())
				r1, r2 := lock(c.RWMutex("prices").RLocker()), lock(a.RWMutex("prices").RLocker())
				_ = r1.Unlock(t.Context())
				_ = r2.Unlock(t.Context())
				_ = lock(c.RWMutex("prices")).Unlock(t.Context())
			}
		}
	}
	check := func(text []byte) verify.Report {
		var c verify.Checker
		for line := range bytes.Lines(text) {
			var l verify.Line
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			c.Add(l)
		}
		return c.Check()
	}
	if got := check(out.Bytes()); len(got.Findings) > 0 || got.Undecided > 0 || got.Holds != 480 || got.Locks != 2 {
		t.Errorf("nobody overlapped: %v", got)
	}

	h := lock(a.Mutex("stock"), redlatch.WithFencing())
	if _, err := b.Mutex("stock").ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := lock(b.Mutex("stock"), redlatch.WithFencing())
	for range 1000 { // some milliseconds
		_ = lock(b.Mutex("other")).Unlock(t.Context())
	}
	_, _ = h.Unlock(t.Context()), second.Unlock(t.Context())
	if err := errors.Join(a.Close(t.Context()), b.Close(t.Context()), recorder.Err()); err != nil {
		t.Fatal(err)
	}
	if got := check(out.Bytes()); len(got.Findings) != 1 || got.Findings[0].Kind != "overlap" || got.Findings[0].Lock != "stock" {
		t.Errorf("a lock was taken away while it was relied on: %v", got)
	}
}

type full struct {
	writes   int
	recorder *verify.Recorder
}

func (f *full) Write([]byte) (int, error) {
	f.writes++
	if f.recorder.Err() != nil { // a writer may ask
		return 0, errors.New("it was full before")
	}
	return 0, errors.New("the disk is full")
}

func TestARecorderStopsAtAnError(t *testing.T) {
	t.Parallel()
	out := &full{}
	recorder := verify.NewRecorder(out, "")
	out.recorder = recorder
	for range 3 {
		recorder.Observe(t.Context(), redlatch.Event{Kind: redlatch.EventAcquired})
	}
	if recorder.Err() == nil || out.writes != 1 {
		t.Errorf("Err is %v, after %d writes", recorder.Err(), out.writes)
	}
}
