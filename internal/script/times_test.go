package script_test

import (
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Goal: whatever number a server sends, the time that it becomes can be added to any other. Method: the
// least and the greatest numbers.
func TestNoNumberOfAServerOverflows(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{math.MinInt64, -3, -1, 0, 1, 1<<53 + 1, math.MaxInt64/1000 - 1, math.MaxInt64} {
		for _, unit := range []time.Duration{time.Microsecond, time.Millisecond, time.Second} {
			if d := script.Duration(n, unit); d+d < d && n > 0 || n < 0 && (d >= 0 || d < -2*unit) {
				t.Errorf("%d times %v is %v", n, unit, d)
			}
		}
		text := strconv.FormatInt(n, 10)
		clock, ok := script.Clock(driver.Reply{Array: []driver.Reply{{Str: text}, {Str: text}}})
		at, _, scored := script.Moment(text)
		for _, m := range []time.Time{clock, at} {
			if _, err := m.MarshalJSON(); err != nil || !ok || !scored || m.Before(time.UnixMilli(0)) {
				t.Errorf("%d is the moment %v: %v", n, m, err)
			}
		}
	}
}
