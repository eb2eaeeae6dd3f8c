//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// demoProcess is a running demonstration.
type demoProcess struct {
	*exec.Cmd
	t      *testing.T
	said   func() string // what it has written to stdout
	stderr bytes.Buffer
	temp   string // its folder for temporary files
	exited chan struct{}
}

// newDemoProcess is a demonstration that has not started.
func newDemoProcess(t *testing.T, flags ...string) *demoProcess {
	t.Helper()
	var stdout output
	p := &demoProcess{t: t, temp: t.TempDir(), said: stdout.String, exited: make(chan struct{})}
	p.Cmd = exec.Command(redistest.Must(os.Executable()), append([]string{"demo"}, flags...)...)
	// The race detector would have every process sleep for a second at its end.
	p.Env = append(os.Environ(), asCommand+"=1", "TMPDIR="+p.temp, "GORACE=atexit_sleep_ms=0")
	p.Stdout, p.Stderr = &stdout, &p.stderr
	return p
}

// startDemo starts a demonstration whose end is up to the test.
func startDemo(t *testing.T, flags ...string) *demoProcess {
	t.Helper()
	return newDemoProcess(t, flags...).start()
}

func (p *demoProcess) start() *demoProcess {
	p.t.Helper()
	redistest.Must(0, p.Start())
	p.watch()
	return p
}

// watch waits for the end.
func (p *demoProcess) watch() {
	go func() {
		defer close(p.exited)
		p.Wait()
	}()
	p.t.Cleanup(func() { p.Process.Kill(); <-p.exited })
}

// await waits until the output matches.
func (p *demoProcess) await(patterns ...string) {
	p.t.Helper()
	for _, pattern := range patterns {
		compiled := regexp.MustCompile(`(?m)` + pattern)
		redistest.Eventually(p.t, 20*time.Second, func() bool {
			select {
			case <-p.exited:
				p.t.Fatalf("it ended without saying %q:\n%s%s", pattern, p.said(), p.stderr.String())
			default:
			}
			return compiled.MatchString(p.said())
		}, "the output matches "+pattern)
	}
}

// end waits for the end and checks the exit code, and that nothing is left over.
func (p *demoProcess) end(code int) string {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("it does not end:\n%s", p.said())
	}
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d:\n%s%s", got, code, p.said(), p.stderr.String())
	}
	for _, pid := range pidsIn(p.said()) {
		if alive(pid) {
			p.t.Errorf("process %d is left over", pid)
		}
	}
	if left, _ := filepath.Glob(p.temp + "/*"); len(left) > 0 {
		p.t.Errorf("files are left over: %v", left)
	}
	return p.said()
}

// pidsIn finds the actors in the output.
func pidsIn(output string) []int {
	var pids []int
	for _, match := range regexp.MustCompile(`pid (\d+)(?: and (\d+))?`).FindAllStringSubmatch(output, -1) {
		for _, number := range match[1:] {
			if number != "" {
				pids = append(pids, redistest.Must(strconv.Atoi(number)))
			}
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

// awaitGone waits until all processes are gone. There are at least so many: the demo starts others in the place of those that
// it kills.
func awaitGone(t *testing.T, pids []int, least int, within time.Duration) {
	t.Helper()
	if len(pids) < least {
		t.Fatalf("%d processes, want %d", len(pids), least)
	}
	for _, pid := range pids {
		redistest.Eventually(t, within, func() bool { return !alive(pid) }, "process "+strconv.Itoa(pid)+" is gone")
	}
}

// alive says whether a process runs. One that has ended and that nobody has waited
// for is dead.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

// expect checks that the output tells the whole story.
func expect(t *testing.T, output string, patterns ...string) {
	t.Helper()
	for _, pattern := range patterns {
		if !regexp.MustCompile(`(?m)` + pattern).MatchString(output) {
			t.Errorf("nothing matches %q in\n%s", pattern, output)
		}
	}
}

// demoStory is what a run tells while it goes on, and demoSummary what it says in the end, if nothing is missing.
var (
	demoStory = []string{
		`started w1 pid \d+, w2 pid \d+, w3 pid \d+$`,
		`w\d acquired the lock, and stays inside for 3\.0 s$`,
		`w\d renewed its lease: TTL \d\.\d+ s -> \d\.\d+ s$`,
		`held by w\d; TTL \[#+\.*\] \d\.\d+ s; waiting: w\d`,
		`w\d released the lock after \d\.\d s$`,
		`w\d was killed with SIGKILL inside its critical section$`,
		`the lock is still w\d's, for the \d\.\d+ s that its lease had left$`,
		`w4 started, pid \d+, in its place$`,
		`the lease of w\d expired: w\d acquired the lock, \d\.\d+ s after the kill$`,
		`increments [1-9]\d`, // some after hand-overs
	}
	demoSummary = []string{
		`^interrupted after \d+\.\d s, 3 processes, lease 2s, work 5ms$`,
		`increments +\d+ completed; the killed worker had not written$`,
		`counter file +\d+: none lost$`,
		`overlaps +0 in \d+ visits`,
		`hand-over +p50 \d+\.\d+ ms, p99 \d+\.\d+ ms, max \d+\.\d+ ms in \d+ hand-overs?:`,
		`renewals seen +[1-9]\d* jumps? of the TTL in Redis$`,
		`w\d had the lock \d\.\d+ s after the kill of w\d`,
		`whose lease had \d\.\d+ s left$`,
		`^sound: `,
	}
)

// Each of these also sees what is left in Redis: nothing.
func TestDemoTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags, story []string
	}{
		"on its own server": {nil, append([]string{`^redis redis://127\.0\.0\.1:\d+ \(embedded\)$`}, demoStory...)},
		"on Redis":          {[]string{"--redis"}, append([]string{`^lock  redlatch:demo:\w+ `}, demoStory...)},
		"of a fair lock":    {[]string{"--fair", "--redis"}, append([]string{`; queue: w\d+ w\d+`}, demoStory[4:]...)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			flags := append([]string{"--workers", "3", "--for", "60s", "--lease", "2s", "--work", "5ms"}, c.flags...)
			if c.flags != nil {
				flags = append(flags, server.URL())
			}
			p := startDemo(t, flags...)
			p.await(c.story...)
			p.Process.Signal(os.Interrupt)
			output := p.end(0)
			expect(t, output, demoSummary...)
			if lines := strings.Count(output, "\n") - strings.Count(output, " s  held by "); lines > 41 {
				t.Errorf("%d lines are too many for a log:\n%s", lines, output)
			}
			wantNoKeys(t, server)
		})
	}
}

func wantNoKeys(t *testing.T, server *redistest.Server) {
	t.Helper()
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

// Goal: the demonstration cannot be sound by accident. Method: the workers' lock
// keeps nobody out.
func TestDemoSeesThatALockDoesNotLock(t *testing.T) {
	t.Parallel()
	p := newDemoProcess(t, "--workers", "3", "--for", "60s", "--lease", "500ms", "--work", "5ms")
	p.Env = append(p.Env, brokenLock+"=1")
	p.start().await(`OVERLAP`, `increments \d\d`)
	p.Process.Signal(os.Interrupt)
	expect(t, p.end(exitUnsound), `overlaps +[1-9]\d* in`, `counter file +\d+: [1-9]\d* increments LOST$`, `^NOT SOUND`)
}

func TestDemoEndsWithASignalAndTheSummarySoFar(t *testing.T) {
	t.Parallel()
	for _, number := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(number.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := startDemo(t, "--workers", "3", "--for", "60s", "--lease", "5s", "--redis", server.URL())
			p.await(`increments [1-9]`)
			p.Process.Signal(number)
			sent := time.Now()
			output := p.end(0)
			if took := time.Since(sent); took > 5*time.Second || len(pidsIn(output)) < 3 {
				t.Errorf("it took %v:\n%s", took, output)
			}
			expect(t, output, `^interrupted after`, `overlaps +0 in`, `^sound: `)
			wantNoKeys(t, server)
		})
	}
}

// The lease of the killed worker would stand for two seconds more.
func TestLongDemoTakesTheLockOfADeadWorkerAlong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, "--workers", "2", "--for", "10s", "--lease", "2500ms", "--redis", server.URL())
	p.await(`was killed`)
	if keys := server.Keys(t, "redlatch:demo:*"); len(keys) != 1 {
		t.Errorf("keys while the dead worker has the lock: %q", keys)
	}
	p.Process.Signal(os.Interrupt)
	expect(t, p.end(0), `did not come back before the end`)
	wantNoKeys(t, server)
}

func TestWorkersDieWithADemoThatIsKilled(t *testing.T) {
	t.Parallel()
	p := startDemo(t, "--workers", "3", "--for", "60s")
	p.await(`increments [1-9]`)
	p.Process.Kill()
	awaitGone(t, pidsIn(p.said()), 3, 10*time.Second)
}

func TestDemoReportsWhatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail     func(server *redistest.Server, newest int)
		patterns []string
	}{
		"Redis":    {func(server *redistest.Server, _ int) { server.Kill() }, []string{`worker w\d \(pid \d+\) ended: exit status 70; its stderr:`, `connection refused|EOF|reset`}},
		"a worker": {func(_ *redistest.Server, newest int) { syscall.Kill(newest, syscall.SIGTERM) }, []string{`worker w3 \(pid \d+\) ended: signal: terminated`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := startDemo(t, "--workers", "2", "--for", "60s", "--lease", "2s", "--redis", server.URL())
			newest := regexp.MustCompile(`w3 started, pid (\d+), in its place`) // of the one that the demo itself kills
			p.await(newest.String())
			c.fail(server, redistest.Must(strconv.Atoi(newest.FindStringSubmatch(p.said())[1])))
			expect(t, p.end(exitFailure), `overlaps +0 in`)
			expect(t, p.stderr.String(), c.patterns...)
		})
	}
}

// As behind "| head".
func TestLongDemoTidiesUpWhenNobodyReadsItAnyMore(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--workers", "2", "--for", "60s"}, {"--pause"}} {
		p := newDemoProcess(t, flags...)
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p.Stdout = writer
		p.start()
		writer.Close()
		text := make([]byte, 10_000)
		p.said = func() string { return string(text) }
		for begun := 0; !strings.Contains(p.said(), "started w1") && !strings.Contains(p.said(), "SIGSTOP"); {
			begun += redistest.Must(reader.Read(text[begun:]))
		}
		reader.Close()
		p.end(exitFailure)
		expect(t, p.stderr.String(), `^redlatch: write .*broken pipe\n$`)
	}
}

func TestDemoRefusesAWrongCommandLine(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--workers 1":                          "--workers 1: from 2",
		"--workers many":                       "it takes a whole number",
		"--lease 1ms":                          "--lease 1ms: from 200ms",
		"--for 3":                              "--for 3s: from 12s",
		"--work 4s":                            "--work 4s: from 0",
		"--pause --lease 31s":                  "--lease 31s: from 1s to 30s",
		"--redis http://127.0.0.1":             "url: the scheme",
		"--redis memory://x":                   "lives inside one process",
		"--redis redis://me:secret@/x":         "url: it names no host",
		"--no-lock":                            "unknown flag",
		"now":                                  "unknown command",
		"--redis redis://u:secret@h:99999/":    "url: the port",
		"--redis redis://u:secret@127.0.0.1:1": "connection refused",
	} {
		code := exitUsage
		if want == "connection refused" {
			code = exitFailure
		}
		p := startDemo(t, strings.Fields(flags)...)
		p.end(code)
		stderr := p.stderr.String()
		if !strings.HasPrefix(stderr, "redlatch: ") || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: stderr %q, want %q in it", flags, stderr, want)
		}
	}
}
