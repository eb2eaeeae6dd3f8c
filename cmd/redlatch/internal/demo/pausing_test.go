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

// played plays a half without processes, in leases of a second.
func played(t *testing.T, protected bool, all ...said) *half {
	t.Helper()
	h := newHalf(&gauge{lease: time.Second}, protected)
	h.holder, h.rival = &process{state: enter}, &process{state: waiting}
	steps := []struct {
		step moment
		at   time.Duration
	}{{stopped, time.Second}, {resumed, 5 * time.Second}, {released, 6 * time.Second}}
	take := func(until time.Duration) {
		for len(steps) > 0 && steps[0].at <= until {
			h.take(steps[0].step, steps[0].at)
			steps = steps[1:]
		}
	}
	for _, s := range all {
		take(s.at)
		who := h.holder
		if s.rival {
			who = h.rival
		}
		h.hear(who, s.kind, s.at)
	}
	take(time.Hour)
	return h
}

// Goal: the demonstration does not praise what did not happen. Method: both halves as they
// should go, and every way in which they may not.
func TestThePauseIsJudgedByWhatTheProcessesSay(t *testing.T) {
	t.Parallel()
	const after = 5010 * time.Millisecond
	early, late := said{true, enter, 3 * time.Second}, said{true, enter, 6010 * time.Millisecond}
	learns, doubted, kept := said{false, lost, after}, said{false, doubts, after}, said{false, holds, after + 1}
	for name, c := range map[string]struct {
		half *half
		kept bool
	}{
		"without, as it goes":                 {played(t, false, early, learns), true},
		"without, the rival stays out":        {played(t, false, learns), false},
		"without, the holder does not know":   {played(t, false, early, doubted), false},
		"without, the holder believes in it":  {played(t, false, early, kept, learns), false},
		"with, as it goes":                    {played(t, true, doubted, kept, late), true},
		"with, Redis answers before it looks": {played(t, true, kept, late), true},
		"with, the rival enters":              {played(t, true, early, doubted, kept), false},
		"with, the hold is lost":              {played(t, true, learns, late), false},
		"with, nobody enters ever":            {played(t, true, doubted, kept), false},
		"broken off":                          {newHalf(&gauge{}, false), false},
	} {
		if got := c.half.kept(); got != c.kept {
			t.Errorf("%s: kept %v, after %q", name, got, c.half.past)
		}
		_, verdict := c.half.verdict()
		if red := strings.Contains(verdict, "not as promised"); red && c.kept || !red && name == "with, the rival enters" {
			t.Errorf("%s: the verdict is %q", name, verdict)
		}
	}
}

// told is the scenario at its end. The parent had no time to look between two moments.
func told(from, to time.Duration) *pausing {
	const lease, all = 2 * time.Second, 14 * time.Second
	r := &runner{settings: Settings{Lease: lease}, screen: &screen{}, address: "redis://127.0.0.1:6379", length: all}
	r.now = r.began.Add(all)
	p := &pausing{runner: r, halves: [2]*half{newHalf(&gauge{lease: lease}, false), newHalf(&gauge{lease: lease}, true)}}
	for _, h := range p.halves {
		h.holder, h.rival = &process{state: enter}, &process{state: waiting}
	}
	without, with := p.halves[0], p.halves[1]
	moments := map[time.Duration]func(){
		2 * time.Second:          func() { without.take(stopped, 2*time.Second); with.take(stopped, 2*time.Second) },
		4 * time.Second:          func() { without.rival.state = enter; without.note(entered, 4*time.Second) },
		10 * time.Second:         func() { without.take(resumed, 10*time.Second); with.take(resumed, 10*time.Second) },
		10040 * time.Millisecond: func() { without.holder.state = lost; without.note(learned, 0); with.note(confirmed, 0) },
		12520 * time.Millisecond: func() {
			without.take(released, 12520*time.Millisecond)
			with.take(released, 12520*time.Millisecond)
			with.holder.state, with.rival.state = resting, enter
			with.note(entered, 0)
		},
	}
	for at := time.Duration(0); at < all; at += 40 * time.Millisecond {
		if do := moments[at]; do != nil {
			do()
		}
		for _, h := range p.halves {
			h.ttl = lease - at%(lease/3)
			if at < from || at >= to {
				h.look(h.protected && at%(lease/4) < 40*time.Millisecond, at, all)
			}
		}
	}
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
		"with a watchdog  renewed 15 times for it: the hold is kept\n",
		"  holder   ━━━━━━━━━┄┄┄┄", "┄✗✗✗", "  rival    ··················━━━", "^ SIGSTOP", "^ SIGCONT  ^ release",
		"  watchdog ···········▲·▲·▲··▲")
	contains(t, text(told(1600*time.Millisecond, 3200*time.Millisecond).frame(0)), "  holder   ━━━━━━━━━━━━━━┄┄┄┄") // no holes
}

func TestThePauseIsToldInLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := told(0, 0)
	p.screen.out = &out
	p.now = p.began.Add(2 * time.Second)
	p.note(plain, "SIGSTOP")
	p.screen.draw(p.frame)
	if out.String() != "   2.0 s  SIGSTOP\n" {
		t.Errorf("before the end: %q", out.String())
	}
	if sound := p.conclude(false, false); !sound || !strings.Contains(out.String(), "━━┄┄") || strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), " \n") {
		t.Errorf("at the end, sound %v: %q", sound, out.String())
	}
}
