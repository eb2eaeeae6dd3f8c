package watchdog

import "github.com/redlatch/redlatch/internal/protocol"

// setReachable notes whether looks are answered. It logs each change once.
func (w *Watchdog) setReachable(err error) {
	switch {
	case err != nil:
		w.failed(1)
		if !w.unreachable {
			what := "Redis does not answer: nobody's holds are renewed"
			if isAnswer(err) {
				what = "Redis refuses to say who is stalled: nobody's holds are renewed"
			}
			w.log.Error(what, "reason", protocol.Line(err.Error()))
		}
	case w.unreachable:
		w.log.Info("Redis answers again")
	}
	w.unreachable = err != nil
}

// setListed notes whether Redis lists this watchdog. It logs each change once.
func (w *Watchdog) setListed(err error) {
	switch {
	case err != nil:
		w.failed(1)
		if !w.unlisted {
			w.log.Error("Redis refuses to list this watchdog: it works on, and clients do not count on it", "reason", protocol.Line(err.Error()))
		}
	case w.unlisted:
		w.log.Info("Redis lists this watchdog again")
	}
	w.unlisted = err != nil
}

// setAble notes whether this watchdog may do its work, and logs each change once. A watchdog
// that Redis forbids to work does not count itself alive. One that cannot reach a server still
// does: clients of that server miss their watchdog by themselves, and the others are served.
func (w *Watchdog) setAble(stalled bool) {
	served, denied := w.served.Swap(false), w.denied.Swap(false)
	able := w.able
	switch {
	case served || !stalled:
		able = true
	case denied:
		able = false
	}
	switch {
	case able && !w.able:
		w.log.Info("stalled clients can be served again")
	case !able && w.able:
		w.log.Error("Redis forbids to serve stalled clients: leaving them to other watchdogs, and trying on")
	}
	w.able = able
}

// failed counts requests that were refused or not answered.
func (w *Watchdog) failed(n int) { w.counters.note(func(s *Stats) { s.Failures += int64(n) }) }
