package redistest

import (
	"math/rand/v2"
	"time"
)

// Disturb does one thing at random to the connections through a proxy: it cuts them, drops up to
// three scripts or their replies, or delays or holds back everything for up to most. It blocks until
// that is over.
func (p *Proxy) Disturb(random *rand.Rand, most time.Duration) {
	some, scripts := 1+random.IntN(3), Containing("EVAL")
	long := time.Duration(random.Int64N(int64(most)))
	switch random.IntN(5) {
	case 0:
		p.Cut()
	case 1:
		p.DropRequests(some, scripts)
	case 2:
		p.DropReplies(some, scripts)
	case 3:
		p.Delay(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
		time.Sleep(long)
		p.Delay(0)
	case 4:
		p.Blackhole(true)
		time.Sleep(long)
		p.Blackhole(false)
	}
}
