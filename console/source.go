package console

import (
	"context"
	"iter"
	"time"

	"github.com/redlatch/redlatch/inspect"
)

// Source reads the locks again and again. An *inspect.Inspector is one.
type Source interface {
	// Follow yields what it has read every so often, until ctx ends. It yields an error in place of
	// what it could not read, and goes on.
	//
	// A source that has the method Notices() []string says by it what it may not read. One that has the
	// method Permits of an Inspector yields the semaphores by it.
	Follow(ctx context.Context, pattern string, every time.Duration) iter.Seq2[inspect.Snapshot, error]
}
