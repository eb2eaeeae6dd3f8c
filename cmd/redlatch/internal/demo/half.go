package demo

import (
	"context"
	"fmt"
	"time"
)

// half is one of two that are told side by side: a lock, a holder and a rival.
type half struct {
	title     string
	protected bool
	lock      lock
	holder    *process
	rival     *process

	watchdogs int // that the holder knows of
	gauge     gauge
	renewals  int // while the holder was stopped
	lanes     []lane

	// Times since the start of the story; 0 for what has not happened.
	stopped, resumed, released time.Duration
	entered                    time.Duration // the rival had the lock
	lost                       time.Duration // the holder knew that it had lost it
	doubted, confirmed         time.Duration // it was in doubt after the pause, and was valid
}

func newHalf(title string, protected bool, lease time.Duration) *half {
	h := &half{title: title, protected: protected, gauge: gauge{lease: lease}}
	h.lanes = []lane{{label: "holder"}, {label: "rival"}, {label: "TTL"}}
	if protected {
		h.lanes = append(h.lanes, lane{label: "watchdog"})
	}
	return h
}

// ready says whether the story can begin.
func (h *half) ready() bool {
	held := h.holder.state == enter || h.holder.state == holds
	return held && h.rival.state == waiting && (!h.protected || h.watchdogs > 0)
}

// paused says whether the holder stands still.
func (h *half) paused() bool { return h.stopped > 0 && h.resumed == 0 }

// look asks Redis for the lock, and keeps it for the picture of all the time. It
// reports whether the watchdog has renewed, and what was left of the lease then.
func (h *half) look(ctx context.Context, elapsed, all time.Duration) (renewed bool, from time.Duration) {
	renewed, from = h.gauge.ask(ctx, h.lock)
	// Right after the stop one may be seen that the holder had sent before.
	renewed = renewed && h.protected && h.paused() && elapsed-h.stopped > 2*maxTick
	if renewed {
		h.renewals++
	}
	h.picture(elapsed, all, renewed)
	return renewed, from
}

// picture keeps how things stand in the lanes.
func (h *half) picture(elapsed, all time.Duration, renewed bool) {
	seen := []glyph{glyphOf(h.holder.state), glyphOf(h.rival.state), ttlGlyph(h.gauge.last.ttl, h.gauge.lease), looks}
	if h.paused() {
		seen[0] = standing
	}
	if renewed {
		seen[3] = renews
	}
	for i := range h.lanes {
		h.lanes[i].put(column(elapsed, all), seen[i])
	}
}

// hear takes what one of the processes says of itself, and tells what it means.
func (h *half) hear(p *process, e event, elapsed time.Duration) (mood, string) {
	p.state = e.Kind
	if h.stopped == 0 && p == h.rival && e.Kind == enter && h.holder != nil {
		h.holder, h.rival = h.rival, h.holder
	}
	if p == h.rival {
		return h.entry(elapsed)
	}
	h.watchdogs = max(h.watchdogs, e.Watchdogs)
	if h.resumed == 0 || h.released > 0 {
		return neutral, ""
	}
	after := millis(elapsed - h.resumed)
	switch {
	case e.Kind == doubts && h.doubted == 0:
		h.doubted = elapsed
		return neutral, "the holder goes on, and is not valid until Redis has answered"
	case e.Kind == lost && h.lost == 0:
		h.lost = elapsed
		return bad, fmt.Sprintf("the holder learns ErrLost, %s after it goes on", after)
	case e.Kind == holds && h.confirmed == 0:
		h.confirmed = elapsed
		return good, fmt.Sprintf("the holder still holds the lock, confirmed after %s", after)
	}
	return neutral, ""
}

// entry tells of the rival's entry.
func (h *half) entry(elapsed time.Duration) (mood, string) {
	if h.rival.state != enter {
		return neutral, ""
	}
	h.entered = elapsed
	switch {
	case h.released > 0:
		return good, fmt.Sprintf("the rival enters, %s after the release", millis(h.entered-h.released))
	case h.paused():
		return bad, fmt.Sprintf("the rival enters, %s after the stop: the lease is over", seconds(h.entered-h.stopped))
	}
	return bad, "the rival enters"
}

// broken says what did not go as promised, or nothing.
func (h *half) broken() string {
	switch {
	case h.stopped == 0 || h.resumed == 0 || h.released == 0:
		return "it was not shown to the end"
	case h.protected && (h.lost > 0 || h.confirmed == 0):
		return "the holder lost its lock"
	case h.protected && h.entered > 0 && h.entered < h.released:
		return "the rival entered while the holder had the lock"
	case h.protected && h.entered == 0:
		return "the rival did not enter after the release"
	case !h.protected && (h.entered == 0 || h.entered > h.resumed):
		return "the rival did not enter while the holder stood still"
	case !h.protected && (h.lost == 0 || h.confirmed > 0):
		return "the holder did not learn of its loss"
	}
	return ""
}

// verdict is what has become of the half so far, in a few words.
func (h *half) verdict() (mood, string) {
	switch broken := h.broken(); {
	case h.released > 0 && broken != "" && h.entered > 0:
		return bad, broken
	case h.confirmed > 0:
		return good, fmt.Sprintf("renewed %s for it: the hold is kept", plural(h.renewals, "time"))
	case h.lost > 0:
		return bad, fmt.Sprintf("the rival entered after %s: the hold is lost", seconds(h.entered-h.stopped))
	case h.entered > 0:
		return bad, "two processes believe that they hold the lock, but one stands still"
	case h.paused():
		return faint, "the holder stands still"
	}
	return faint, "the holder works"
}
