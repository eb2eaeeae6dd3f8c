package script

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Numbers of a server become times here, and nowhere else. Anybody may have written them. Behind this
// door the sum of any two fits.

// Duration is n units of time, such as a TTL in milliseconds. More than a century is cut to that: Java's
// lock(Integer.MAX_VALUE, DAYS) sets six million years. Below zero stand the -1 and the -2 of PTTL.
func Duration(n int64, unit time.Duration) time.Duration {
	return time.Duration(max(min(n, int64(century/unit)), -2)) * unit
}

const century = 100 * 365 * 24 * time.Hour

// duration is a TTL in milliseconds.
func duration(ms int64) time.Duration { return Duration(ms, time.Millisecond) }

// moment is so many milliseconds after the beginning of 1970.
func moment(ms int64) time.Time { return time.UnixMilli(max(min(ms, protocol.MaxMillis), 0)) }

// Moment is a score that counts milliseconds. It reports false for a score that is no time. Never says
// that it is later than the year 9999.
func Moment(score string) (at time.Time, never, ok bool) {
	ms, err := strconv.ParseFloat(score, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(ms) {
		return time.Time{}, false, false
	}
	return moment(int64(max(min(ms, protocol.MaxMillis), 0))), ms >= protocol.MaxMillis, true
}

// Clock is the server's clock in a reply of TIME. It reports false for any other reply.
func Clock(r driver.Reply) (now time.Time, ok bool) {
	if r.Err != nil || len(r.Array) != 2 {
		return time.Time{}, false
	}
	seconds, _ := strconv.ParseInt(r.Array[0].Str, 10, 64)
	micros, _ := strconv.ParseInt(r.Array[1].Str, 10, 64)
	return moment(min(seconds, protocol.MaxMillis/1000) * 1000).Add(Duration(max(micros%1e6, 0), time.Microsecond)), true
}
