package call

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAWriterYieldsUnlessItIsAloneOrHasWaitedForLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, begin, ended, serves, yields, takes := 1, 0, int64(0), int64(0), 0, time.Duration(0)
		y := Yielder{calls: func() int { return calls }, ended: func() int64 { return ended }, pass: func() {
			yields++
			ended, calls = ended+serves, calls+begin
			time.Sleep(takes)
		}}
		expect := func(want int, why string) {
			t.Helper()
			y.Yield()
			if yields != want {
				t.Errorf("%s: %d yields, want %d", why, yields, want)
			}
		}
		expect(0, "a lone call")
		calls = 2
		expect(1, "two calls")
		takes = longYield + 1
		expect(2, "the one before was short")
		expect(2, "right after a long one")
		time.Sleep(yieldRest)
		takes = 0
		expect(3, "the pause is over")
		expect(4, "the one before was short")
		serves, takes = 100, longYield+100*perCall
		expect(5, "the one before was short")
		expect(6, "the one before was long, but many calls ended in it")
		serves, begin = 0, 100
		expect(7, "the one before was long, but many calls ended in it")
		begin = 0
		expect(8, "the one before was long, but many calls began in it")
	})
}
