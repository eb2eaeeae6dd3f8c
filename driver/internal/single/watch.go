package single

import (
	"time"

	"github.com/redlatch/redlatch/driver/internal/call"
)

// A link is checked several times in each command timeout. It is given up when calls
// are under way and none of them has ended for silentChecks checks in a row. A call that
// enters right after a check, just before which another one had ended, is thus over after
// 5/6 of the command timeout. A sixth is left for slow timers.
const (
	checks       = 6
	silentChecks = 4
)

// watch checks a link until it is closed. No call needs a timer of its own.
func (d *Driver) watch(link *link) {
	tick := time.NewTicker(d.options.CommandTimeout / checks)
	defer tick.Stop()
	var seen int64
	for silence := 0; silence < silentChecks; silence++ {
		select {
		case <-tick.C:
		case <-link.queue.gone:
			return
		}
		if left := link.queue.left.Load(); left != seen || len(link.queue.taken) == 0 {
			seen, silence = left, -1
		}
	}
	d.lose(link, call.NoAnswer(d.options.CommandTimeout*silentChecks/checks))
}
