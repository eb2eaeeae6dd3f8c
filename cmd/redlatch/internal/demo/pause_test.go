package demo

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// played plays a half of the story without processes: what they say, by the time since the
// start in leases of a second.
func played(t *testing.T, protected bool, said ...func(h *half)) *half {
	t.Helper()
	h := &half{title: "half", protected: protected, holder: &player{state: isHolding}, rival: &player{state: isWaiting}}
	h.stopped, h.resumed, h.released = time.Second, 5*time.Second, 6*time.Second
	for _, say := range said {
		say(h)
	}
	return h
}

// says is a word of one of the two at a time.
func (h *half) says(who *player, state actorState, at time.Duration) {
	who.state = state
	stopped, resumed, released := h.stopped, h.resumed, h.released
	if at < resumed {
		h.resumed = 0
	}
	if at < released {
		h.released = 0
	}
	h.heard(cue{player: who, says: says{State: state}}, at)
	h.stopped, h.resumed, h.released = stopped, resumed, released
}

func holder(state actorState, at time.Duration) func(*half) {
	return func(h *half) { h.says(h.holder, state, at) }
}

func rival(state actorState, at time.Duration) func(*half) {
	return func(h *half) { h.says(h.rival, state, at) }
}

// Goal: the demonstration does not praise what did not happen. Method: both stories as they
// should go, and every way in which they may not.
func TestThePauseIsJudgedByWhatTheProcessesSay(t *testing.T) {
	t.Parallel()
	s := PauseSettings{Lease: time.Second}
	const paused, after, late = 3 * time.Second, 5010 * time.Millisecond, 6010 * time.Millisecond
	for name, c := range map[string]struct {
		half *half
		want string
	}{
		"without, as it goes":                 {played(t, false, rival(isHolding, paused), holder(isLosing, after)), ""},
		"with, as it goes":                    {played(t, true, holder(isDoubting, after), holder(isHolding, after+1), rival(isHolding, late)), ""},
		"without, the rival stays out":        {played(t, false, holder(isLosing, after)), "did not enter while"},
		"without, the holder does not know":   {played(t, false, rival(isHolding, paused), holder(isDoubting, after)), "did not learn"},
		"with, Redis answers before it looks": {played(t, true, holder(isHolding, after), rival(isHolding, late)), ""},
		"without, the holder believes in it":  {played(t, false, rival(isHolding, paused), holder(isHolding, after), holder(isLosing, after+1)), "did not learn"},
		"with, the rival enters":              {played(t, true, rival(isHolding, paused), holder(isDoubting, after), holder(isHolding, after+1)), "entered while"},
		"with, the hold is lost":              {played(t, true, holder(isLosing, after), rival(isHolding, late)), "lost its lock"},
		"with, nobody enters ever":            {played(t, true, holder(isDoubting, after), holder(isHolding, after+1)), "did not enter after"},
		"broken off":                          {&half{}, "not shown to the end"},
	} {
		got := c.half.broken(s)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: judged as %q, want %q", name, got, c.want)
		}
	}
}

// story is a picture of both halves at their end.
func story() picture {
	lease := 2 * time.Second
	p := picture{settings: PauseSettings{Lease: lease}, server: "redis://127.0.0.1:6379", elapsed: 14 * time.Second}
	for i := range p.halves {
		h := &half{title: []string{"without a watchdog", "with a watchdog"}[i], protected: i == 1, holder: &player{}, rival: &player{}}
		h.stopped, h.resumed, h.released = 2*time.Second, 10*time.Second, 12500*time.Millisecond
		for at := time.Duration(0); at < 14*time.Second; at += 40 * time.Millisecond {
			h.moments = append(h.moments, momentOf(h, at, lease))
		}
		p.halves[i] = h
	}
	p.halves[0].entered, p.halves[0].lost = 4*time.Second, 10010*time.Millisecond
	p.halves[1].confirmed, p.halves[1].renewals, p.halves[1].entered = 10012*time.Millisecond, 13, 12501*time.Millisecond
	return p
}

func momentOf(h *half, at, lease time.Duration) moment {
	m := moment{at: at, holder: runs, rival: waits, ttl: lease - at%(lease/3)}
	switch {
	case at < h.stopped || at >= h.released && h.protected:
	case at < h.resumed:
		m.holder = standing
		m.ttl = lease - (at-h.stopped)%(lease/3)
		m.renewed = h.protected && at > h.stopped && (at-h.stopped)%(lease/4) < 40*time.Millisecond
		if !h.protected && at < h.stopped+lease {
			m.ttl = h.stopped + lease - at
		}
	case !h.protected:
		m.holder = lostIt
	}
	if at >= h.released {
		m.holder = nothing
	}
	if !h.protected && at >= h.stopped+lease || at >= h.released {
		m.rival = runs
	}
	return m
}

func TestThePictureOfAPauseFitsATerminal(t *testing.T) {
	t.Parallel()
	lines := story().lines()
	if len(lines) > pauseHeight-1 {
		t.Errorf("%d lines do not fit %d", len(lines), pauseHeight)
	}
	got := text(lines, 1000)
	t.Log("\n" + got)
	for l := range strings.Lines(got) {
		if n := len([]rune(strings.TrimRight(l, "\n "))); n > 80 {
			t.Errorf("%d columns: %s", n, l)
		}
	}
	for _, part := range []string{
		"without a watchdog  the rival entered after 2.0 s: the hold is lost\n",
		"with a watchdog  renewed 13 times for it: the hold is kept\n",
		"  holder   ━━━━━━━━━┄┄┄┄", "┄✗✗✗", "  rival    ··················━━━", "^ SIGSTOP", "^ SIGCONT  ^ release",
		"  watchdog ···········▲·▲·▲··▲",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
}

func TestThePauseIsToldInLinesWhereThereIsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := newPauseView(&out)
	v.note(note{after: 2 * time.Second, text: "SIGSTOP"})
	check(t, v.draw(story()))
	if out.String() != "   2.0 s  SIGSTOP\n" {
		t.Errorf("before the end: %q", out.String())
	}
	check(t, v.end(story()))
	if !strings.Contains(out.String(), "━━┄┄") || strings.Contains(out.String(), "\x1b") || strings.Contains(out.String(), " \n") {
		t.Errorf("at the end: %q", out.String())
	}
}

func TestTheSettingsOfAPauseAreChecked(t *testing.T) {
	t.Parallel()
	for want, s := range map[string]PauseSettings{
		"--lease 10ms":   {Lease: 10 * time.Millisecond},
		"--lease 1h0m0s": {Lease: time.Hour},
		"--redis":        {Lease: 2 * time.Second, Redis: "memory://"},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v is judged as %v", s, err)
		}
	}
	check(t, PauseSettings{Lease: 2 * time.Second}.Check())
}
