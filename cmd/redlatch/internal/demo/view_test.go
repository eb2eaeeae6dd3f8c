package demo

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
)

// terminal is a screen that draws on so many columns and lines.
func terminal(out *bytes.Buffer, width, height *int) *screen {
	return &screen{out: out, size: func() (int, int, error) { return *width, *height, nil }}
}

// busy is a count of which every part is filled.
func busy(workers int) *counting {
	settings := usual()
	settings.Workers = workers
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r := &runner{settings: settings, screen: &screen{}, address: "redis://127.0.0.1:6379", began: began, now: began.Add(8200 * time.Millisecond), length: settings.For}
	c := &counting{runner: r, gauge: &gauge{name: "redlatch:demo:abc", renewals: 4}, referee: newReferee(), number: 66}
	c.referee.completed, c.referee.handOver = 66, 980*time.Microsecond
	for n := range workers {
		command := &exec.Cmd{Process: &os.Process{Pid: 4000 + n}}
		c.workers = append(c.workers, &process{number: n + 1, state: waiting, command: command, client: "c" + string(rune('a'+n)), since: r.now.Add(-300 * time.Millisecond), done: 5})
	}
	c.workers[1].state = enter
	c.sample = sample{at: r.now.Add(-100 * time.Millisecond), owner: "cb:17", ttl: 1600 * time.Millisecond}
	return c
}

func text(lines []string) string {
	var out bytes.Buffer
	(&screen{out: &out}).print(lines...)
	return out.String()
}

// Goal: a worker that was killed does not overlap with its heir, even if its end is heard later.
func TestAKilledWorkerIsNotInside(t *testing.T) {
	t.Parallel()
	c := busy(2)
	c.screen = &screen{out: new(bytes.Buffer)}
	c.judge(event{Kind: enter, Number: 1, At: 1000})
	c.workers[0].killedAt.Store(2000)
	c.judge(event{Kind: enter, Number: 2, At: 3000})
	c.judge(event{Kind: gone, Number: 1, At: 2000})
	if r := c.referee.report; r.overlaps != 0 || r.killed != 1 || len(r.recoveries) != 1 || r.recoveries[0].after != 1000 {
		t.Errorf("the report is %+v", r)
	}
}

func TestTheFrameShowsWhoHoldsWhoWaitsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width, height := 80, 24
	n := terminal(&out, &width, &height)
	n.note(3100*time.Millisecond, good, "w2 renewed its lease: TTL %s -> 3.0 s", "2.0 s")
	n.draw(busy(2).frame)
	want := `redlatch demo  8.2 s of 15.0 s   2 processes, one lock, one unguarded number
lock  redlatch:demo:abc   lease 3s, renewed every third of it
redis redis://127.0.0.1:6379

held by w2
TTL [###############...............] 1.5 s
waiting: w1
increments 66, counter 66, overlaps 0
last hand-over 0.98 ms, renewals seen 4

  w1  pid 4000    waits      0.3 s     5 added
  w2  pid 4001    HOLDS      0.3 s     5 added

   3.1 s  w2 renewed its lease: TTL 2.0 s -> 3.0 s
`
	if got := strings.NewReplacer("\r", "", "\x1b[K", "", "\x1b[J", "").Replace(out.String()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTheFrameTellsWhatIsUnusual(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*counting){
		"held by w2, dead": func(c *counting) {
			c.dead, c.workers[1] = c.workers[1], &process{number: 3, command: c.workers[0].command, client: "cz", replaces: c.workers[1]}
		},
		"in place of w2": func(c *counting) { c.workers[0].replaces = c.workers[1] },
		"Redis does not answer: connection refused": func(c *counting) { c.gauge.err = errors.New("connection refused") },
		"held by nobody":     func(c *counting) { c.sample = sample{at: c.now} },
		"held by a stranger": func(c *counting) { c.owner = "somebody:1" },
		"queue: w1 a stranger": func(c *counting) {
			c.settings.Fair, c.queue = true, []redlatch.Waiter{{Owner: "ca:3"}, {Owner: "x:1"}}
		},
		"left": func(c *counting) { c.workers[0].state = gone },
	} {
		c := busy(2)
		change(c)
		contains(t, text(c.frame(24)), want)
	}
}

func TestLongTheFrameFitsEveryTerminalThatItIsDrawnIn(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{2, 3, 4, 5, 8, 13, 30, maxWorkers} {
		c := busy(workers)
		for height := minHeight; height < 90; height++ {
			lines := c.frame(height)
			if len(lines)+minNotes > height-1 || !strings.Contains(text(lines), "w1 ") {
				t.Fatalf("%d workers: %d lines on a screen of %d\n%s", workers, len(lines), height, text(lines))
			}
		}
	}
}

func TestALineIsCutToTheWidthWithoutItsColours(t *testing.T) {
	t.Parallel()
	line := good.text("green") + " plain" + bad.text(" red")
	for width, want := range map[int]string{
		80: "\x1b[32mgreen\x1b[0m plain\x1b[31;1m red\x1b[0m",
		8:  "\x1b[32mgreen\x1b[0m pl\x1b[31;1m\x1b[0m",
		3:  "\x1b[32mgre\x1b[0m\x1b[31;1m\x1b[0m",
		0:  "\x1b[32m\x1b[0m\x1b[31;1m\x1b[0m",
		-1: "\x1b[32m\x1b[0m\x1b[31;1m\x1b[0m",
	} {
		if got := fit(line, width, true); got != want {
			t.Errorf("width %d: %q, want %q", width, got, want)
		}
	}
	if got := fit(line, 8, false); got != "green pl" {
		t.Errorf("without colours: %q", got)
	}
}

func TestTheTerminalIsDrawnOverAndStartsAnewWhenResized(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	width, height := 80, 24
	n := terminal(&out, &width, &height)
	draw := func() string {
		out.Reset()
		n.draw(busy(2).frame)
		check(t, n.err)
		return out.String()
	}
	if first := draw(); strings.Contains(first, "A\r") || strings.Count(first, "\n") != 13 {
		t.Errorf("first frame: %q", first)
	}
	if again := draw(); !strings.HasPrefix(again, "\x1b[13A\r") || !strings.HasSuffix(again, "\x1b[J") {
		t.Errorf("second frame: %q", again)
	}
	width = 60
	if resized := draw(); !strings.HasPrefix(resized, "\x1b[2J\x1b[H") {
		t.Errorf("after the resize: %q", resized)
	}
	for name := range strings.SplitSeq("ABCDEFGHIJKLMNOPQRST", "") {
		n.note(0, plain, "note %s", name)
	}
	height = 60
	if shown := draw(); strings.Contains(shown, "note J") || !strings.Contains(shown, "note K") || !strings.Contains(shown, "note T") {
		t.Errorf("of the notes, it shows %q", shown)
	}
	height = 5
	draw()
	if small := draw(); strings.Count(small, "\n") != 4 {
		t.Errorf("on five lines: %q", small)
	}
}

func TestTheLogSaysHowThingsStandOnceASecond(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := busy(3)
	c.screen.out = &out
	for tenth := range 52 { // some of them late
		c.now = c.began.Add(time.Duration(tenth)*100*time.Millisecond + time.Duration(tenth%7)*10*time.Millisecond)
		c.log()
	}
	got := out.String()
	line := regexp.MustCompile(`(?m)^   1\.0 s  held by w2; TTL \[#+\.*\] \d\.\d s; waiting: w1 w3; increments 66, counter 66, overlaps 0$`)
	if strings.Count(got, "\n") != 5 || !line.MatchString(got) || strings.Contains(got, "\x1b") {
		t.Errorf("lines:\n%s", got)
	}
	if got := fit(strings.Join(busy(maxWorkers).status(), "; "), 1000, false); !strings.Contains(got, "; waiting: 63 workers;") || len(got) > 120 {
		t.Errorf("%d characters: %s", len(got), got)
	}
	c.workers[1].state = waiting // it was heard of before Redis was asked
	if got := c.waiters(); got != "w1 w3" {
		t.Errorf("waiters %s, holder %s", got, c.holder())
	}
}
