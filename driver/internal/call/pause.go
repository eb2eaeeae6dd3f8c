package call

import (
	"context"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/random"
)

// The pause between two attempts to connect doubles from the first to the last.
const (
	FirstPause = 10 * time.Millisecond
	LastPause  = time.Second
)

// Backoff are the pauses between repeated attempts.
type Backoff struct{ pause time.Duration }

// Rest waits for the next pause, or until ctx ends. The pauses double from FirstPause to
// LastPause.
func (b *Backoff) Rest(ctx context.Context) {
	b.pause = max(b.pause, FirstPause)
	Rest(ctx, b.pause)
	b.pause = min(2*b.pause, LastPause)
}

// Reset begins again with the first pause.
func (b *Backoff) Reset() { b.pause = 0 }

// Jittered is a pause that is up to half shorter, at random, so that the clients of a
// server that restarts do not all return at the same moment.
func Jittered(pause time.Duration) time.Duration { return pause - random.Below(pause/2+1) }

// Rest waits for a Jittered pause, or until ctx ends.
func Rest(ctx context.Context, longest time.Duration) { _ = pause.For(ctx, Jittered(longest)) }
