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
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// shortDemo are the flags of a run that shows everything in four seconds.
var shortDemo = []string{"--workers", "3", "--for", "4s", "--lease", "800ms", "--work", "5ms"}

// demoProcess is a running demonstration.
type demoProcess struct {
	t       *testing.T
	command *exec.Cmd
	temp    string // its folder for temporary files
	stderr  bytes.Buffer
	exited  chan struct{}
	seen    chan struct{} // closed when all output has been read; nil if exec does that

	mu     sync.Mutex
	stdout bytes.Buffer
}

func (p *demoProcess) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.Write(text)
}

// output is what it has written to stdout.
func (p *demoProcess) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stdout.String()
}

// startDemo starts a demonstration whose end is up to the test.
func startDemo(t *testing.T, environment []string, flags ...string) *demoProcess {
	t.Helper()
	p := newDemoProcess(t, environment, flags...)
	p.command.Stdout, p.command.Stderr = p, &p.stderr
	p.start()
	return p
}

func newDemoProcess(t *testing.T, environment []string, flags ...string) *demoProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &demoProcess{t: t, temp: t.TempDir(), exited: make(chan struct{})}
	p.command = exec.Command(self, append([]string{"demo"}, flags...)...)
	// The race detector would have every process sleep for a second at its end.
	p.command.Env = append(os.Environ(), append(environment, asCommand+"=1", "TMPDIR="+p.temp, "GORACE=atexit_sleep_ms=0")...)
	return p
}

func (p *demoProcess) start() {
	p.t.Helper()
	if err := p.command.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.exited)
		p.command.Wait()
		if p.seen != nil {
			<-p.seen
		}
	}()
	p.t.Cleanup(func() { p.command.Process.Kill(); <-p.exited })
}

// await waits until the output matches.
func (p *demoProcess) await(pattern string) {
	p.t.Helper()
	compiled := regexp.MustCompile(pattern)
	redistest.Eventually(p.t, 20*time.Second, func() bool {
		select {
		case <-p.exited:
			p.t.Fatalf("it ended without saying %q:\n%s%s", pattern, p.output(), p.stderr.String())
		default:
		}
		return compiled.MatchString(p.output())
	}, "the output matches "+pattern)
}

// end waits for the end and checks the exit code, and that nothing is left over.
func (p *demoProcess) end(code int) string {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		p.t.Fatalf("it does not end:\n%s", p.output())
	}
	output := p.output()
	if got := p.command.ProcessState.ExitCode(); got != code {
		p.t.Errorf("exit code %d, want %d:\n%s%s", got, code, output, p.stderr.String())
	}
	for _, pid := range pidsIn(output) {
		if alive(pid) {
			p.t.Errorf("process %d is left over", pid)
		}
	}
	if left, _ := filepath.Glob(p.temp + "/*"); len(left) > 0 {
		p.t.Errorf("files are left over: %v", left)
	}
	return output
}

// pidsIn finds the workers in the output.
func pidsIn(output string) []int {
	var pids []int
	for _, match := range regexp.MustCompile(`w\d+,? (?:started, )?pid (\d+)`).FindAllStringSubmatch(output, -1) {
		pid, _ := strconv.Atoi(match[1])
		pids = append(pids, pid)
	}
	return pids
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

// wholeStory is what a run shows from which nothing is missing.
var wholeStory = []string{
	`started w1 pid \d+, w2 pid \d+, w3 pid \d+$`,
	`held by w\d, TTL 0\.\d+ s; waiting: w\d`,
	`w\d acquired the lock, and stays inside for 1\.2 s$`,
	`w\d renewed its lease: TTL 0\.\d+ s -> 0\.\d+ s$`,
	`w\d released the lock after 1\.\d s$`,
	`w\d was killed with SIGKILL inside its critical section$`,
	`w4 started, pid \d+, in its place$`,
	`the lock is still w\d's, for the 0\.\d+ s that its lease had left$`,
	`the lease of w\d expired: w\d acquired the lock, \d\.\d+ s after the kill$`,
	`increments +\d+ completed; the killed worker had not written$`,
	`counter file +\d+: none lost$`,
	`overlaps +0 in \d+ visits`,
	`hand-over +p50 \d+\.\d+ ms, p99 \d+\.\d+ ms, max \d+\.\d+ ms in \d+ hand-overs`,
	`renewals seen +[1-9]\d* jumps? of the TTL in Redis$`,
	`w\d had the lock \d\.\d+ s after the kill of w\d`,
	`whose lease had 0\.\d+ s left: \d+ ms (after|before) that$`,
	`^sound: `,
}

func TestDemoOnItsOwnServer(t *testing.T) {
	t.Parallel()
	output := startDemo(t, nil, shortDemo...).end(0)
	expect(t, output, append(wholeStory, `^redis redis://127\.0\.0\.1:\d+ \(embedded\)$`)...)
	if lines := strings.Count(output, "\n"); lines > 45 {
		t.Errorf("%d lines are too many for a log:\n%s", lines, output)
	}
}

func TestDemoOnRedisLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	output := startDemo(t, nil, append(shortDemo, "--redis", server.URL())...).end(0)
	expect(t, output, append(wholeStory, `^lock redlatch:demo:\w+,`)...)
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

// TestDemoShowsTheQueueOfAFairLock also sees what is left of it: nothing.
func TestDemoShowsTheQueueOfAFairLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	output := startDemo(t, nil, append(slices.Clone(shortDemo), "--fair", "--redis", server.URL())...).end(0)
	expect(t, output, `; queue: w\d+ w\d+`, `overlaps +0 in \d+ visits`, `^sound: `)
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

// Goal: the demonstration cannot be sound by accident. Method: the workers' lock
// keeps nobody out.
func TestDemoSeesThatALockDoesNotLock(t *testing.T) {
	t.Parallel()
	output := startDemo(t, []string{brokenLock + "=1"}, "--workers", "3", "--for", "2s", "--lease", "500ms", "--work", "5ms").end(exitUnsound)
	expect(t, output, `overlaps +[1-9]\d* in`, `counter file +\d+: [1-9]\d* increments LOST$`, `OVERLAP`, `^NOT SOUND`)
}

func TestDemoEndsWithASignalAndTheSummarySoFar(t *testing.T) {
	t.Parallel()
	for _, number := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(number.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := startDemo(t, nil, "--workers", "3", "--for", "60s", "--lease", "5s", "--redis", server.URL())
			p.await(`increments [1-9]`)
			p.command.Process.Signal(number)
			sent := time.Now()
			output := p.end(0)
			if took := time.Since(sent); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			if len(pidsIn(output)) != 3 {
				t.Errorf("no three workers in\n%s", output)
			}
			expect(t, output, `^interrupted after`, `overlaps +0 in`, `^sound: `)
			if keys := server.Keys(t, "*"); len(keys) > 0 {
				t.Errorf("keys are left over: %q", keys)
			}
		})
	}
}

// The lease of the killed worker would stand for two seconds more.
func TestDemoTakesTheLockOfADeadWorkerAlong(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, nil, "--workers", "2", "--for", "10s", "--lease", "2500ms", "--redis", server.URL())
	p.await(`was killed`)
	if keys := server.Keys(t, "redlatch:demo:*"); len(keys) != 1 {
		t.Errorf("keys while the dead worker has the lock: %q", keys)
	}
	p.command.Process.Signal(os.Interrupt)
	expect(t, p.end(0), `did not come back before the end`)
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

func TestWorkersDieWithADemoThatIsKilled(t *testing.T) {
	t.Parallel()
	p := startDemo(t, nil, "--workers", "3", "--for", "60s")
	p.await(`increments [1-9]`)
	pids := pidsIn(p.output())
	if len(pids) != 3 {
		t.Fatalf("no three workers in\n%s", p.output())
	}
	p.command.Process.Kill()
	for _, pid := range pids {
		redistest.Eventually(t, 10*time.Second, func() bool { return !alive(pid) }, "worker "+strconv.Itoa(pid)+" is gone")
	}
}

func TestDemoReportsThatRedisFailed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := startDemo(t, nil, "--workers", "2", "--for", "60s", "--lease", "500ms", "--redis", server.URL())
	p.await(`increments [1-9]`)
	server.Kill()
	output := p.end(exitFailure)
	expect(t, output, `overlaps +0 in`)
	expect(t, p.stderr.String(), `worker w\d \(pid \d+\) ended: exit status 70; its stderr:`, `connection refused|EOF|reset`)
}

// As behind "| head".
func TestDemoTidiesUpWhenNobodyReadsItAnyMore(t *testing.T) {
	t.Parallel()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := newDemoProcess(t, nil, "--workers", "2", "--for", "60s")
	p.command.Stdout, p.command.Stderr = writer, &p.stderr
	p.start()
	writer.Close()
	text := make([]byte, 10_000)
	for !strings.Contains(p.output(), "started") {
		n, err := reader.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Write(text[:n])
	}
	reader.Close()
	p.end(exitFailure)
	expect(t, p.stderr.String(), `^redlatch: write .*broken pipe\n$`)
}

func TestDemoReportsAWorkerThatDies(t *testing.T) {
	t.Parallel()
	p := startDemo(t, nil, "--workers", "2", "--for", "60s")
	p.await(`increments [1-9]`)
	syscall.Kill(pidsIn(p.output())[1], syscall.SIGTERM)
	p.end(exitFailure)
	expect(t, p.stderr.String(), `worker w2 \(pid \d+\) ended: signal: terminated`)
}

func TestDemoRefusesAWrongCommandLine(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--workers 1":                       "--workers 1: from 2",
		"--workers many":                    "invalid argument",
		"--lease 1ms":                       "--lease 1ms: the shortest",
		"--for 3s":                          "--for 3s: with --lease 3s",
		"--work 4s":                         "--work 4s: from 0",
		"--redis http://127.0.0.1":          "url: the scheme",
		"--redis memory://x":                "lives inside one process",
		"--redis redis://me:secret@/x":      "url: it names no host",
		"--no-lock":                         "unknown flag",
		"now":                               "unknown command",
		"--redis redis://u:secret@h:99999/": "url: the port",
	} {
		p := startDemo(t, nil, strings.Fields(flags)...)
		p.end(exitUsage)
		stderr := p.stderr.String()
		if !strings.HasPrefix(stderr, "redlatch: ") || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("%s: stderr %q, want %q in it", flags, stderr, want)
		}
	}
}

func TestDemoReportsThatRedisIsNotThere(t *testing.T) {
	t.Parallel()
	p := startDemo(t, nil, "--redis", "redis://me:secret@127.0.0.1:1")
	p.end(exitFailure)
	if stderr := p.stderr.String(); !strings.Contains(stderr, "connection refused") || strings.Contains(stderr, "secret") {
		t.Errorf("stderr %q", stderr)
	}
}
