package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// said is what a half's holder or rival says, at a time since the start.
type said struct {
	rival bool
	kind  kind
	at    time.Duration
}

// played plays a half of the story without processes, in leases of a second.
func played(protected bool, all ...said) *half {
	h := newHalf("half", protected, time.Second)
	h.holder, h.rival = &process{state: enter}, &process{state: waiting}
	for _, s := range all {
		h.stopped, h.resumed, h.released = time.Second, 0, 0
		if s.at >= 5*time.Second {
			h.resumed = 5 * time.Second
		}
		if s.at >= 6*time.Second {
			h.released = 6 * time.Second
		}
		who := h.holder
		if s.rival {
			who = h.rival
		}
		h.hear(who, event{Kind: s.kind}, s.at)
	}
	h.stopped, h.resumed, h.released = time.Second, 5*time.Second, 6*time.Second
	return h
}

// Goal: the demonstration does not praise what did not happen. Method: both stories as they
// should go, and every way in which they may not.
func TestThePauseIsJudgedByWhatTheProcessesSay(t *testing.T) {
	t.Parallel()
	const after = 5010 * time.Millisecond
	early, late := said{true, enter, 3 * time.Second}, said{true, enter, 6010 * time.Millisecond}
	learns, doubted, kept := said{false, lost, after}, said{false, doubts, after}, said{false, holds, after + 1}
	for name, c := range map[string]struct {
		half *half
		want string
	}{
		"without, as it goes":                 {played(false, early, learns), ""},
		"without, the rival stays out":        {played(false, learns), "did not enter while"},
		"without, the holder does not know":   {played(false, early, doubted), "did not learn"},
		"without, the holder believes in it":  {played(false, early, kept, learns), "did not learn"},
		"with, as it goes":                    {played(true, doubted, kept, late), ""},
		"with, Redis answers before it looks": {played(true, kept, late), ""},
		"with, the rival enters":              {played(true, early, doubted, kept), "entered while"},
		"with, the hold is lost":              {played(true, learns, late), "lost its lock"},
		"with, nobody enters ever":            {played(true, doubted, kept), "did not enter after"},
		"broken off":                          {newHalf("", false, time.Second), "not shown to the end"},
	} {
		got := c.half.broken()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: judged as %q, want %q", name, got, c.want)
		}
	}
}

// told is the story at its end. The parent had no time to look between two moments.
func told(from, to time.Duration) *pausing {
	const lease, all = 2 * time.Second, 14 * time.Second
	s := &stage{settings: Settings{Lease: lease}, narrator: &narrator{}, address: "redis://127.0.0.1:6379", length: all}
	s.now = s.began.Add(all)
	p := &pausing{stage: s, halves: [2]*half{newHalf("without a watchdog", false, lease), newHalf("with a watchdog", true, lease)}}
	for _, h := range p.halves {
		h.holder, h.rival = &process{}, &process{}
	}
	for at := time.Duration(0); at < all; at += 40 * time.Millisecond {
		for _, h := range p.halves {
			if at >= from && at < to {
				continue
			}
			h.holder.state, h.rival.state = enter, waiting
			switch {
			case at >= 12500*time.Millisecond:
				h.released, h.holder.state, h.rival.state = 12500*time.Millisecond, resting, enter
			case at >= 10*time.Second:
				h.resumed = 10 * time.Second
			case at >= 2*time.Second:
				h.stopped = 2 * time.Second
			}
			if !h.protected && at >= 4*time.Second {
				h.rival.state = enter
			}
			if !h.protected && at >= 10*time.Second {
				h.holder.state = lost
			}
			h.gauge.last.ttl = lease - at%(lease/3)
			h.picture(at, all, h.protected && h.paused() && at > h.stopped && (at-h.stopped)%(lease/4) < 40*time.Millisecond)
		}
	}
	p.halves[0].entered, p.halves[0].lost = 4*time.Second, 10010*time.Millisecond
	p.halves[1].confirmed, p.halves[1].renewals, p.halves[1].entered = 10012*time.Millisecond, 13, 12501*time.Millisecond
	return p
}

func TestThePictureOfAPauseFitsATerminal(t *testing.T) {
	t.Parallel()
	lines := told(0, 0).frame(0)
	if len(lines) > pauseHeight-1 {
		t.Errorf("%d lines do not fit %d", len(lines), pauseHeight)
	}
	for l := range strings.Lines(text(lines)) {
		if n := len([]rune(strings.TrimRight(l, "\n "))); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	contains(t, text(lines),
		"without a watchdog  the rival entered after 2.0 s: the hold is lost\n",
		"with a watchdog  renewed 13 times for it: the hold is kept\n",
		"  holder   ━━━━━━━━━┄┄┄┄", "┄✗✗✗", "  rival    ··················━━━", "^ SIGSTOP", "^ SIGCONT  ^ release",
		"  watchdog ···········▲·▲·▲··▲")
	contains(t, text(told(1600*time.Millisecond, 3200*time.Millisecond).frame(0)), "  holder   ━━━━━━━━━━━━━━┄┄┄┄") // no holes
}

func TestThePauseIsToldInLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := told(0, 0)
	p.narrator.out = &out
	p.now = p.began.Add(2 * time.Second)
	p.note(neutral, "SIGSTOP")
	p.narrator.draw(p.frame)
	if out.String() != "   2.0 s  SIGSTOP\n" {
		t.Errorf("before the end: %q", out.String())
	}
	if sound := p.conclude(false, false); !sound || !strings.Contains(out.String(), "━━┄┄") || strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), " \n") {
		t.Errorf("at the end, sound %v: %q", sound, out.String())
	}
}
