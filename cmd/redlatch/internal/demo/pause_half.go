package demo

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch"
)

// half is one of the two stories: a lock, a holder, and a rival.
type half struct {
	title     string
	protected bool
	lock      lock
	holder    *player
	rival     *player

	gauge    gauge
	ttl      time.Duration
	owner    string // in Redis, at the last look
	moments  []moment
	renewals int // while the holder was stopped

	// Times since the start of the story; 0 for what has not happened.
	stopped, resumed, released time.Duration
	entered                    time.Duration // the rival had the lock
	lost                       time.Duration // the holder knew that it had lost it
	doubted, confirmed         time.Duration // it was in doubt after the pause, and was valid
}

// moment is how things stood at one time, for the picture.
type moment struct {
	at      time.Duration
	holder  glyph
	rival   glyph
	renewed bool
	ttl     time.Duration
}

func newHalf(title string, protected bool, lease time.Duration, client *redlatch.Client) *half {
	return &half{
		title: title, protected: protected, gauge: gauge{lease: lease},
		lock:   client.Mutex("redlatch:demo:" + strings.ToLower(rand.Text()[:8])),
		holder: &player{name: "holder " + title, state: isWaiting},
		rival:  &player{name: "rival " + title, state: isWaiting},
	}
}

// paused says whether the holder stands still.
func (h *half) paused() bool { return h.stopped > 0 && h.resumed == 0 }

// look asks Redis for the lock, and keeps the moment for the picture. It reports whether
// the lock was renewed while its holder stood still, and what was left of its lease.
func (h *half) look(ctx context.Context, elapsed time.Duration) (renewed bool, from time.Duration) {
	taken := ask(ctx, h.lock)
	if taken.err == nil {
		renewed, from = h.gauge.take(taken)
		h.owner, h.ttl = taken.owner, taken.ttl
	}
	// Right after the stop one may be seen that the holder had sent before.
	renewed = renewed && h.protected && h.paused() && elapsed-h.stopped > 2*pauseTick
	if renewed {
		h.renewals++
	}
	h.moments = append(h.moments, moment{elapsed, h.holderGlyph(), h.rivalGlyph(), renewed, h.ttl})
	return renewed, from
}

// told is a note without its time.
type told struct {
	mood mood
	text string
}

// heard takes what one of the processes says of itself.
func (h *half) heard(c cue, elapsed time.Duration) []told {
	switch c.player {
	case h.rival:
		if c.says.State == isHolding && h.entered == 0 {
			h.entered = elapsed
			return []told{h.entry()}
		}
	case h.holder:
		if h.resumed > 0 && h.released == 0 {
			return h.awake(c.says.State, elapsed)
		}
	}
	return nil
}

// entry tells of the rival's entry.
func (h *half) entry() told {
	switch {
	case h.released > 0:
		return told{good, fmt.Sprintf("the rival enters, %s after the release", millis(h.entered-h.released))}
	case h.paused():
		return told{bad, fmt.Sprintf("the rival enters, %s after the stop: the lease is over", seconds(h.entered-h.stopped))}
	}
	return told{bad, "the rival enters"}
}

// awake tells of a holder that goes on.
func (h *half) awake(state actorState, elapsed time.Duration) (all []told) {
	after := millis(elapsed - h.resumed)
	switch {
	case state == isDoubting && h.doubted == 0:
		h.doubted = elapsed
		return []told{{neutral, "the holder goes on, and is not valid until Redis has answered"}}
	case state == isLosing && h.lost == 0:
		h.lost = elapsed
		return []told{{bad, fmt.Sprintf("the holder learns ErrLost, %s after it goes on", after)}}
	case state == isHolding && h.confirmed == 0:
		h.confirmed = elapsed
		return []told{{good, fmt.Sprintf("the holder still holds the lock, confirmed after %s", after)}}
	}
	return nil
}

// broken says what did not go as promised, or nothing.
func (h *half) broken(s PauseSettings) string {
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
