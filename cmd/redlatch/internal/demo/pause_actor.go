package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/redlatch/redlatch"
)

// part is the line that an actor reads from its stdin.
type part struct {
	URL     string        `json:"url"`
	Lock    string        `json:"lock"`
	Lease   time.Duration `json:"leaseNanos"`
	Protect bool          `json:"protect,omitempty"`
}

// actorState is what an actor says of itself, in a JSON line on its stdout, again and
// again.
type actorState string

const (
	isWaiting  actorState = "waits"
	isHolding  actorState = "holds"
	isDoubting actorState = "doubts" // after a pause, until Redis has answered
	isLosing   actorState = "lost"
	isGone     actorState = "gone"
)

// says is such a line.
type says struct {
	State     actorState `json:"state"`
	Watchdogs int        `json:"watchdogs,omitempty"` // that it knows of
}

// sayEvery is how often an actor looks at its hold: after a pause there is little time to
// see it in doubt.
const sayEvery = time.Millisecond

// Act is a process of the story of a pause: it takes the lock and says what becomes of it.
// It reads its part from in and reports to out. It blocks until in or ctx has ended, gives
// the lock back then, and returns nil. The goroutine that reads in ends with in.
func Act(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	var p part
	if err := json.NewDecoder(in).Decode(&p); err != nil {
		return fmt.Errorf("read the part: %w", err)
	}
	ctx, dismiss := context.WithCancel(ctx)
	defer dismiss()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		dismiss()
	}()
	client, err := redlatch.Open(ctx, p.URL, redlatch.Config{
		LeaseTime: p.Lease, Protect: p.Protect, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return dismissed(ctx, err)
	}
	defer func() { err = errors.Join(err, client.Close(context.Background())) }()
	return perform(ctx, client, p, json.NewEncoder(out))
}

func perform(ctx context.Context, client *redlatch.Client, p part, out *json.Encoder) error {
	if err := out.Encode(says{State: isWaiting}); err != nil {
		return err
	}
	hold, err := client.Mutex(p.Lock).Lock(ctx)
	if err != nil {
		return dismissed(ctx, err)
	}
	if err := tell(ctx, client, hold, p.Lease/4, out); err != nil {
		return err
	}
	if err := hold.Unlock(ctx); err != nil && !errors.Is(err, redlatch.ErrLost) {
		return err
	}
	return out.Encode(says{State: isGone})
}

// tell says what becomes of a hold until ctx ends: each change, and how things stand after
// a gap, in which they may have changed and changed back.
func tell(ctx context.Context, client *redlatch.Client, hold *redlatch.Hold, gap time.Duration, out *json.Encoder) error {
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	var last says
	for looked := time.Now(); ctx.Err() == nil; {
		before := looked
		looked = time.Now() // first, for a pause between the two lines must not make old news of it
		now := says{stateOf(hold), client.Stats().Watchdogs}
		if now != last || looked.Sub(before) > gap {
			if err := out.Encode(now); err != nil {
				return err
			}
			last = now
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	return nil
}

// stateOf is a hold in one word.
func stateOf(hold *redlatch.Hold) actorState {
	switch valid := hold.Valid(); {
	case valid:
		return isHolding
	case hold.Err() == nil:
		return isDoubting
	}
	return isLosing
}
