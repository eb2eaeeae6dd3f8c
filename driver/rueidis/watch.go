package rueidis

import "time"

// A link is looked at several times in each command timeout. It is given up when calls
// are under way and none of them has ended for silentLooks looks in a row. A call that
// enters right after a look, at which another one had just ended, is thus over after 5/6
// of the command timeout. A sixth is left for slow timers.
const (
	looks       = 6
	silentLooks = 4
)

// watch looks after a link until it is closed. No call needs a timer of its own.
func (d *Driver) watch(l *link) {
	tick := time.NewTicker(d.options.CommandTimeout / looks)
	defer tick.Stop()
	var seen int64
	for silence := 0; silence < silentLooks; silence++ {
		select {
		case <-tick.C:
		case <-l.queue.gone:
			return
		}
		if left := l.queue.left.Load(); left != seen || len(l.queue.taken) == 0 {
			seen, silence = left, -1
		}
	}
	d.lose(l, noAnswer(d.options.CommandTimeout*silentLooks/looks))
}
