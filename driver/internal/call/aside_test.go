package call_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// Goal: foreign code that ends its goroutine, as FailNow of a test does in a dialer, is an error at once, and
// keeps no place. Method: more such calls than there are places.
func TestCodeThatEndsItsGoroutineKeepsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		aside, began := call.NewAside(), time.Now()
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := call.Run(ctx, aside, func() (int, error) { runtime.Goexit(); return 0, nil }, func(int) {})
			if cancel(); err == nil || time.Since(began) > 0 {
				t.Fatalf("error %v after %v, want one at once", err, time.Since(began))
			}
		}
		if made, err := call.Run(t.Context(), aside, func() (int, error) { return 7, nil }, func(int) {}); made != 7 || err != nil {
			t.Errorf("the next call: %d, %v", made, err)
		}
	})
}
