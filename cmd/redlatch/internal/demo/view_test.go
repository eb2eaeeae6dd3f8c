package demo

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
)

// busy is a scene of which every part is filled.
func busy(workers int) *scene {
	s := &scene{settings: usual(), lock: "redlatch:demo:abc", server: "redis://127.0.0.1:6379", renewals: 4, counter: 66}
	s.settings.Workers = workers
	s.began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.now = s.began.Add(8200 * time.Millisecond)
	s.verdict.Completed, s.handOver = 66, 980*time.Microsecond
	for n := range workers {
		s.rows = append(s.rows, row{number: n + 1, pid: 4000 + n, client: "c" + string(rune('a'+n)), state: waiting, since: s.now.Add(-300 * time.Millisecond), done: 5})
	}
	s.rows[1].state = holding
	s.sample = sample{at: s.now.Add(-100 * time.Millisecond), owner: "cb:17", count: 1, ttl: 1600 * time.Millisecond}
	return s
}

func text(lines []line, width int) string {
	var all strings.Builder
	for _, l := range lines {
		all.WriteString(l.render(width, false) + "\n")
	}
	return all.String()
}

func TestTheFrameShowsWhoHoldsWhoWaitsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := busy(2)
	notes := []note{{after: 3100 * time.Millisecond, mood: good, text: "w2 renewed its lease: TTL 2.0 s -> 3.0 s"}}
	want := `redlatch demo  8.2 s of 15.0 s   2 processes, one lock, one unguarded number
lock  redlatch:demo:abc   lease 3s, renewed every third of it
redis redis://127.0.0.1:6379

held by w2        cb:17  count 1
TTL     [####################....................]   1.5 s   renewals seen 4

  w1  pid 4000    waits      0.3 s     5 added
  w2  pid 4001    HOLDS      0.3 s     5 added

increments 66   counter file 66   overlaps 0   last hand-over 0.98 ms

   3.1 s  w2 renewed its lease: TTL 2.0 s -> 3.0 s
`
	if got := text(s.frame(notes, 24), 80); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheFrameTellsTheDeadHolderFromItsSuccessor(t *testing.T) {
	t.Parallel()
	s := busy(2)
	s.dead = s.rows[1]
	s.rows[1] = row{number: 3, pid: 4100, client: "cz", state: waiting, since: s.now, replaces: 2}
	got := text(s.frame(nil, 24), 80)
	for _, want := range []string{"held by w2, dead  cb:17", "w3  pid 4100    waits", "in place of w2"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}

func TestTheFrameTellsWhenItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := busy(2)
	s.trouble = errors.New("connection refused")
	if got := text(s.frame(nil, 24), 80); !strings.Contains(got, "Redis does not answer: connection refused") {
		t.Errorf("nothing of it in\n%s", got)
	}
	s = busy(2)
	s.sample = sample{at: s.now}
	if got := text(s.frame(nil, 24), 80); !strings.Contains(got, "held by nobody") {
		t.Errorf("nothing of it in\n%s", got)
	}
	s.sample.owner = "somebody:1"
	if got := text(s.frame(nil, 24), 80); !strings.Contains(got, "held by a stranger") {
		t.Errorf("nothing of it in\n%s", got)
	}
}

func TestTheFrameFitsEveryTerminalThatItIsDrawnIn(t *testing.T) {
	t.Parallel()
	notes := make([]note, maxNotes)
	for _, workers := range []int{2, 3, 4, 5, 8, 13, 30, maxWorkers} {
		for height := minHeight; height < 90; height++ {
			lines := busy(workers).frame(notes, height)
			if len(lines) > height-1 {
				t.Fatalf("%d workers: %d lines on a screen of %d", workers, len(lines), height)
			}
			if shown := text(lines, 200); !strings.Contains(shown, "w1 ") || !strings.Contains(shown, "0.0 s") {
				t.Fatalf("%d workers on %d lines: no worker or no note\n%s", workers, height, shown)
			}
		}
	}
}

func TestALineIsCutToTheWidthWithoutItsColours(t *testing.T) {
	t.Parallel()
	l := on(good, "green").and(neutral, " plain").and(bad, " red")
	for width, want := range map[int]string{
		80: "\x1b[32mgreen\x1b[0m plain\x1b[31;1m red\x1b[0m",
		8:  "\x1b[32mgreen\x1b[0m pl",
		3:  "\x1b[32mgre\x1b[0m",
		0:  "",
		-1: "",
	} {
		if got := l.render(width, true); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
	if got := l.render(8, false); got != "green pl" {
		t.Errorf("without colours: %q", got)
	}
}

func TestTheScreenDrawsOverItselfAndStartsAnewWhenResized(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width, height := 80, 24
	v := &screen{canvas: canvas{out: &out, size: func() (int, int, error) { return width, height, nil }}}
	draw := func() string {
		out.Reset()
		check(t, v.draw(busy(2)))
		return out.String()
	}
	first := draw()
	lines := strings.Count(first, "\n")
	if strings.Contains(first, "A\r") || lines != 12 {
		t.Errorf("first frame of %d lines: %q", lines, first)
	}
	if again := draw(); !strings.HasPrefix(again, "\x1b[12A\r") || !strings.HasSuffix(again, "\x1b[J") {
		t.Errorf("second frame: %q", again)
	}
	width = 60
	if resized := draw(); !strings.HasPrefix(resized, "\x1b[2J\x1b[H") {
		t.Errorf("after the resize: %q", resized)
	}
	height = 5
	draw()
	if small := draw(); strings.Count(small, "\n") != 4 {
		t.Errorf("on five lines: %q", small)
	}
}

func TestTheScreenKeepsTheNewestNotes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := &screen{canvas: canvas{out: &out, size: func() (int, int, error) { return 80, 60, nil }}}
	for n := range 3 * maxNotes {
		check(t, v.note(note{text: "note " + string(rune('A'+n))}))
	}
	check(t, v.end(busy(2)))
	if shown := out.String(); strings.Contains(shown, "note "+string(rune('A'+2*maxNotes-1))) || !strings.Contains(shown, "note "+string(rune('A'+3*maxNotes-1))) {
		t.Errorf("shown: %q", shown)
	}
}

func TestTheLogSaysHowThingsStandOnceASecond(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := &log{out: &out}
	s := busy(3)
	check(t, v.begin(s))
	out.Reset()
	for tenth := range 52 { // some of them late
		s.now = s.began.Add(time.Duration(tenth)*100*time.Millisecond + time.Duration(tenth%7)*10*time.Millisecond)
		check(t, v.draw(s))
	}
	got := out.String()
	if n := strings.Count(got, "\n"); n != 5 {
		t.Errorf("%d lines in 5 s:\n%s", n, got)
	}
	if !regexp.MustCompile(`(?m)^   1\.0 s  held by w2, TTL \d\.\d s; waiting: w1 w3; increments 66, counter 66, overlaps 0$`).MatchString(got) {
		t.Errorf("lines:\n%s", got)
	}
	if strings.Contains(got, "\x1b") {
		t.Errorf("codes of a terminal in %q", got)
	}
}

func TestTheLogCountsManyWaitersInsteadOfNamingThem(t *testing.T) {
	t.Parallel()
	if got := (&log{}).state(busy(maxWorkers)); !strings.Contains(got, "; waiting: 63 workers;") || len(got) > 100 {
		t.Errorf("%d characters: %s", len(got), got)
	}
}

func TestTheHolderIsNotAmongTheWaiters(t *testing.T) {
	t.Parallel()
	s := busy(3)
	s.rows[1].state = waiting // it was heard of before Redis was asked
	if got := strings.Join(s.waiters(), " "); got != "w1 w3" {
		t.Errorf("waiters %s, holder %s", got, s.holder())
	}
}
