package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// The README is run as it stands, only faster: its seconds are this many times shorter.
const readmeSpeed = 25

// section is what stands under one heading of the README.
type section struct {
	script string   // its shell snippets, one after another
	shown  []string // the lines of output that it shows
}

// readme reads the sections of the README by the beginnings of their headings.
func readme(t *testing.T, heading string) section {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading)
	if !found {
		t.Fatalf("the README has no heading %q", heading)
	}
	body, _, _ := strings.Cut(rest, "\n## ")
	var s section
	for _, block := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(body, -1) {
		switch block[1] {
		case "sh":
			s.script += block[2]
		case "text":
			s.shown = append(s.shown, strings.Split(strings.TrimSpace(block[2]), "\n")...)
		default:
			t.Errorf("a block of the README is neither run nor compared: %q", block[0])
		}
	}
	return s
}

// perform runs the snippets of a section against a service, and returns the lines of
// their output. Every line that the README shows must be among them, up to numbers.
func perform(t *testing.T, heading, url string) []string {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("install curl (Debian: apt-get install curl)")
	}
	s := readme(t, heading)
	address := regexp.MustCompile(`(?m)^locker=\S+$`).FindString(readme(t, "Start it").script)
	script := regexp.MustCompile(`sleep (\d+)`).ReplaceAllStringFunc(s.script, func(sleep string) string {
		seconds, _ := strconv.Atoi(strings.TrimPrefix(sleep, "sleep "))
		return fmt.Sprintf("sleep %.3f", float64(seconds)/readmeSpeed)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-euc", strings.Replace(address, "http://127.0.0.1:8080", url, 1)+"\n"+script)
	command.WaitDelay = time.Second
	output, err := command.CombinedOutput()
	if err != nil || s.script == "" || len(s.shown) == 0 {
		t.Fatalf("%v\n%s\nof the script\n%s", err, output, script)
	}
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	compareShown(t, s.shown, lines)
	return lines
}

var (
	ownerPattern  = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+`)
	numberPattern = regexp.MustCompile(`\d+`)
)

// blur takes out of a line what differs from run to run.
func blur(line string) string {
	return strings.TrimSpace(numberPattern.ReplaceAllString(ownerPattern.ReplaceAllString(line, "OWNER"), "N"))
}

func compareShown(t *testing.T, shown, lines []string) {
	t.Helper()
	seen := map[string]bool{"…": true}
	for _, line := range lines {
		seen[blur(line)] = true
	}
	for _, line := range shown {
		if !seen[blur(line)] {
			t.Errorf("the README shows\n%s\nand nothing like that is in\n%s", line, strings.Join(lines, "\n"))
		}
	}
}

// answersIn reads those lines that are answers of the service.
func answersIn(t *testing.T, lines []string) (statuses, others []answer) {
	t.Helper()
	for _, line := range lines {
		var got answer
		switch err := json.Unmarshal([]byte(line), &got); {
		case err != nil:
		case strings.Contains(line, `"ttl_ms"`):
			statuses = append(statuses, got)
		default:
			others = append(others, got)
		}
	}
	return statuses, others
}

// quick runs a service on a Redis of its own, with its default times at the speed of the
// README.
func quick(t *testing.T) (*app, *redistest.Server) {
	t.Helper()
	s, err := readSettings(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	server := redistest.Start(t)
	flags := []string{"--redis", server.URL()}
	for name, d := range map[string]time.Duration{"work": s.work, "wait": s.wait, "lease": s.lease, "watchdog": s.watchdog} {
		flags = append(flags, "--"+name, (d / readmeSpeed).String())
	}
	return start(t, flags...), server
}

func TestReadmeStartsTheService(t *testing.T) {
	t.Parallel()
	var commands int
	for line := range strings.Lines(readme(t, "Start it").script) {
		arguments, ok := strings.CutPrefix(strings.TrimSpace(line), "go run ./examples/locker")
		if !ok {
			continue
		}
		commands++
		if _, err := readSettings(strings.Fields(arguments), nil); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if commands != 3 {
		t.Errorf("%d commands start the service, want 3", commands)
	}
	got, err := readSettings(nil, nil)
	want := settings{
		listen: "127.0.0.1:8080", redis: "memory://", watchdog: 30 * time.Second, delay: 10 * time.Millisecond,
		times: times{work: 70 * time.Second, wait: 100 * time.Second, lease: 10 * time.Second},
	}
	if err != nil || got != want {
		t.Errorf("without flags it is %+v, %v, and the README tells of %+v", got, err, want)
	}
}

func TestReadmeExperiment1(t *testing.T) {
	t.Parallel()
	a, server := quick(t)
	statuses, others := answersIn(t, perform(t, "Experiment 1", a.url))
	if n := rises(statuses); n < 3 {
		t.Errorf("the TTL jumped back %d times, want at least 3 of 6: %+v", n, statuses)
	}
	if len(others) != 1 || others[0].Result != "released" {
		t.Errorf("the answer is %+v", others)
	}
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

func TestReadmeExperiment2(t *testing.T) {
	t.Parallel()
	a, server := quick(t)
	lines := perform(t, "Experiment 2", a.url)
	statuses, others := answersIn(t, lines)
	if n := rises(statuses); n > 0 {
		t.Errorf("the TTL jumped back %d times: %+v", n, statuses)
	}
	if len(others) != 2 || others[0].Error != "lost" || others[1].Error != "lost" || others[0].Owner == others[1].Owner {
		t.Errorf("the answers are %+v", others)
	}
	if n := strings.Count(strings.Join(lines, "\n")+"\n", "\n409\n"); n != 2 {
		t.Errorf("%d requests were answered by 409, want 2", n)
	}
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

func TestReadmeExperiment3(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	a := start(t, "--redis", server.URL())
	lines := perform(t, "Experiment 3", a.url)
	_, without, _ := strings.Cut(strings.Join(lines, "\n"), "without-lock:\n")
	without, with, _ := strings.Cut(without, "with-lock:\n")
	if strings.HasPrefix(strings.TrimSpace(without), "1 ") {
		t.Errorf("without the lock, no two customers were told the same:\n%s", without)
	}
	if n := strings.Count("\n"+with, "\n      1 {"); n != 3 {
		t.Errorf("with the lock, some customers were told the same:\n%s", with)
	}
	if got := server.CLI(t, "GET", "STOCK_WITH_LOCK:apples"); got != "0" {
		t.Errorf("with the lock, the stock is %v", got)
	}
	if got := server.CLI(t, "GET", "STOCK_WITHOUT_LOCK:apples"); got == "0" {
		t.Error("without the lock, no update was lost")
	}
	if keys := server.Keys(t, "*"); len(keys) != 2 {
		t.Errorf("the keys are %q, want the stock alone", keys)
	}
}
