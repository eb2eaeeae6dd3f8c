package watchdog

import "github.com/redlatch/redlatch/internal/protocol"

// setReachable notes whether looks are answered.
func (w *Watchdog) setReachable(err error) {
	what := "Redis does not answer: nobody's holds are renewed"
	if isAnswer(err) {
		what = "Redis refuses to say who is stalled: nobody's holds are renewed"
	}
	w.set(&w.unreachable, err, what, "Redis answers again")
}

// setListed notes whether Redis lists this watchdog.
func (w *Watchdog) setListed(err error) {
	what := "Redis refuses to list this watchdog: it works on, and clients do not count on it"
	w.set(&w.unlisted, err, what, "Redis lists this watchdog again")
}

// set notes whether something fails, and logs each change once.
func (w *Watchdog) set(failing *bool, err error, what, again string) {
	if err != nil {
		w.failed(1)
		if !*failing {
			w.log.Error(what, "reason", protocol.Line(err.Error()))
		}
	} else if *failing {
		w.log.Info(again)
	}
	*failing = err != nil
}

// setAble notes whether this watchdog may do its work, and logs each change once. A watchdog
// that Redis forbids to work does not count itself alive. One that cannot reach a server still
// does: clients of that server miss their watchdog by themselves, and the others are served.
func (w *Watchdog) setAble(stalled bool) {
	served, denied := w.served.Swap(false), w.denied.Swap(false)
	able := served || !stalled || w.able && !denied
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
