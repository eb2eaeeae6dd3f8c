package demo

import (
	"fmt"
	"slices"
	"time"
)

// half is one of two that are shown side by side: a lock, a holder and a rival.
type half struct {
	*gauge
	title     string
	colour    colour // of what happens to it
	protected bool
	promised  []moment // in this order
	holder    *process
	rival     *process
	lanes     []lane

	step    moment   // the last of those that the parent takes
	past    []moment // what has come true so far
	at      map[moment]time.Duration
	renewed int // how often the watchdog did while the holder was stopped
}

// moment is something that happens to a half once. It is noted from the stop on.
type moment string

const (
	stopped   moment = "SIGSTOP"
	entered   moment = "the rival enters"
	resumed   moment = "SIGCONT"
	doubted   moment = "the holder goes on, and is not valid until Redis has answered" // or Redis is quicker
	confirmed moment = "the holder still holds the lock"
	learned   moment = "the holder learns ErrLost"
	released  moment = "release"
)

func newHalf(g *gauge, protected bool) *half {
	h := &half{gauge: g, title: "without a watchdog", colour: bad, promised: []moment{stopped, entered, resumed, learned, released}}
	h.at = make(map[moment]time.Duration)
	h.lanes = []lane{{label: "holder"}, {label: "rival"}, {label: "TTL"}}
	if protected {
		h.title, h.colour, h.protected = "with a watchdog", good, true
		h.promised = []moment{stopped, resumed, confirmed, released, entered}
		h.lanes = append(h.lanes, lane{label: "watchdog"})
	}
	return h
}

// ready says whether the holder can be stopped.
func (h *half) ready() bool {
	held := h.holder.state == enter || h.holder.state == holds
	return held && h.rival.state == waiting && (!h.protected || h.holder.watchdogs > 0)
}

// note notes a moment, unless it was noted before.
func (h *half) note(m moment, elapsed time.Duration) (first bool) {
	if _, before := h.at[m]; before {
		return false
	}
	if h.at[m] = elapsed; m != doubted {
		h.past = append(h.past, m)
	}
	return true
}

// hear takes what one of the processes says of itself, and tells what is new.
func (h *half) hear(p *process, k kind, elapsed time.Duration) string {
	m := map[kind]moment{doubts: doubted, lost: learned, holds: confirmed}[k]
	if p == h.rival {
		m = map[kind]moment{enter: entered}[k]
	}
	switch {
	case m == entered && h.step == "":
		h.holder, h.rival = h.rival, h.holder // whoever enters first is the holder
		return ""
	case m == "", h.step == "", h.step == stopped && p == h.holder, !h.note(m, elapsed):
		return ""
	}
	after := elapsed - h.at[h.step]
	if after < time.Second {
		return fmt.Sprintf("%s, %s after %s", m, millis(after), h.step)
	}
	return fmt.Sprintf("%s, %s after %s", m, seconds(after), h.step)
}

// take notes a step that the parent takes.
func (h *half) take(step moment, elapsed time.Duration) {
	h.step = step
	h.note(step, elapsed)
}

// look takes what the gauge has seen, and keeps it for the picture of all the time. It
// reports whether the watchdog has renewed for a holder that is stopped.
func (h *half) look(renewed bool, elapsed, all time.Duration) bool {
	// Right after the stop one may be seen that the holder had sent before.
	renewed = renewed && h.protected && h.step == stopped && elapsed-h.at[stopped] > 2*maxTick
	seen := []glyph{glyphs[h.holder.state], glyphs[h.rival.state], ttlGlyph(h.ttl, h.lease), looks}
	if h.step == stopped {
		seen[0] = standing
	}
	if renewed {
		h.renewed++
		seen[3] = renews
	}
	for i := range h.lanes {
		h.lanes[i].put(column(elapsed, all), seen[i])
	}
	return renewed
}

// kept says whether all went as promised.
func (h *half) kept() bool { return slices.Equal(h.past, h.promised) }

// verdict is what has become of the half so far, in a few words.
func (h *half) verdict() (colour, string) {
	asPromised := slices.Equal(h.past, h.promised[:min(len(h.past), len(h.promised))])
	switch {
	case !asPromised:
		return bad, fmt.Sprintf("not as promised: %q", h.past)
	case slices.Contains(h.past, confirmed):
		return good, fmt.Sprintf("renewed %s for it: the hold is kept", plural(h.renewed, "time"))
	case slices.Contains(h.past, learned):
		return bad, fmt.Sprintf("the rival entered after %s: the hold is lost", seconds(h.at[entered]-h.at[stopped]))
	case slices.Contains(h.past, entered):
		return bad, "two processes believe that they hold the lock, but one stands still"
	case h.step == stopped:
		return faint, "the holder stands still"
	}
	return faint, "the holder works"
}
