package call_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
)

// Goal: foreign code that ends its goroutine, as FailNow of a test does in a dialer, is an error at once, and
// keeps no place. So is code that panics, or returns nothing. Method: more such calls than there are places.
func TestForeignCodeThatFailsKeepsNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		aside, began := call.NewAside(), time.Now()
		for what, f := range map[string]func() (net.Conn, error){
			"ended": func() (net.Conn, error) { runtime.Goexit(); return nil, nil }, "panicked: ouch": func() (net.Conn, error) { panic("ouch") },
			"returned nil": func() (net.Conn, error) { return nil, nil }, "nil, and": func() (net.Conn, error) { return (*tls.Conn)(nil), nil },
		} {
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err := call.Run(ctx, aside, "Dial", f, func(net.Conn) {})
				cancel()
				if wrong, is := errors.AsType[*driver.OptionError](err); !is || wrong.Option != "Dial" || !strings.Contains(wrong.Reason, what) || time.Since(began) > 0 {
					t.Fatalf("error %v after %v, want an OptionError at once that says %q", err, time.Since(began), what)
				}
			}
		}
		if made, err := call.Run(t.Context(), aside, "Dial", func() (int, error) { return 7, nil }, func(int) {}); made != 7 || err != nil {
			t.Errorf("the next call: %d, %v", made, err)
		}
	})
}
