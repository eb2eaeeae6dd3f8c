package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// output takes what a process writes.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(text)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// dog is a redlatch watchdog.
type dog struct {
	t       *testing.T
	command *exec.Cmd
	log     output
	exited  chan struct{}
}

// startDog starts one, which serves its health on a port of its own.
func startDog(t *testing.T, url string, flags ...string) *dog {
	t.Helper()
	d := newDog(t, url, flags...)
	d.start()
	return d
}

// newDog prepares one.
func newDog(t *testing.T, url string, flags ...string) *dog {
	t.Helper()
	self := redistest.Must(os.Executable())
	d := &dog{t: t, exited: make(chan struct{})}
	d.command = exec.Command(self, append([]string{"watchdog", "--redis", url, "--listen", "127.0.0.1:0"}, flags...)...)
	d.command.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	d.command.Stderr = &d.log
	return d
}

func (d *dog) start() {
	d.t.Helper()
	if err := d.command.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(d.exited)
		d.command.Wait()
	}()
	d.t.Cleanup(d.kill)
}

// kill ends it without a word.
func (d *dog) kill() {
	d.command.Process.Kill()
	<-d.exited
}

func (d *dog) signal(s syscall.Signal) {
	d.t.Helper()
	if err := d.command.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// find waits until its log matches, and returns what the pattern's group has.
func (d *dog) find(pattern string) string {
	d.t.Helper()
	compiled := regexp.MustCompile(pattern)
	var found []string
	redistest.Eventually(d.t, 20*time.Second, func() bool {
		found = compiled.FindStringSubmatch(d.log.String())
		return found != nil
	}, "the watchdog's log matches "+pattern)
	return found[len(found)-1]
}

// get asks it by HTTP.
func (d *dog) get(path string) (code int, body string) {
	d.t.Helper()
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer := redistest.Must(client.Get("http://" + d.find(`address"?[=:]"?([\d.:]+)`) + path))
	defer answer.Body.Close()
	text := redistest.Must(io.ReadAll(answer.Body))
	return answer.StatusCode, string(text)
}

// awaitReady waits until it does its work, or does not.
func (d *dog) awaitReady(want bool) {
	d.t.Helper()
	redistest.Eventually(d.t, 20*time.Second, func() bool {
		code, _ := d.get("/readyz")
		return (code == 200) == want
	}, map[bool]string{true: "the watchdog is ready", false: "the watchdog is not ready"}[want])
}

// metric is the value of a metric.
func (d *dog) metric(name string) string {
	d.t.Helper()
	_, body := d.get("/metrics")
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(body)
	if found == nil {
		d.t.Fatalf("no metric %s in\n%s", name, body)
	}
	return found[1]
}

// end waits for the end and checks the exit code.
func (d *dog) end(code int) {
	d.t.Helper()
	select {
	case <-d.exited:
	case <-time.After(20 * time.Second):
		d.t.Fatalf("it does not end:\n%s", d.log.String())
	}
	if got := d.command.ProcessState.ExitCode(); got != code {
		d.t.Errorf("exit code %d, want %d:\n%s", got, code, d.log.String())
	}
}

func TestAWatchdogServesItsHealthAndEndsAtSIGTERM(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := startDog(t, server.URL(), "--log", "json")
	d.awaitReady(true)
	if code, _ := d.get("/healthz"); code != 200 {
		t.Errorf("/healthz says %d", code)
	}
	if n := d.metric("redlatch_watchdog_alive"); n != "1" {
		t.Errorf("%s watchdogs are alive", n)
	}
	d.signal(syscall.SIGTERM)
	d.end(0)
	for line := range strings.Lines(d.log.String()) {
		var entry struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Level == "" || entry.Msg == "" {
			t.Errorf("a line of the log is no JSON: %s", line)
		}
	}
	if keys := server.Keys(t, "*"); len(keys) != 0 {
		t.Errorf("left behind are %v", keys)
	}
}

// Goal: connections that do nothing neither end a watchdog nor keep a probe or a paused client waiting.
// Method: 10,000 of them, and a limit of memory as in the manifest.
func TestLongIdleConnectionsCostAWatchdogNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := newDog(t, server.URL())
	d.command.Env = append(d.command.Env, "GOMEMLIMIT=48MiB")
	d.start()
	d.awaitReady(true)
	address := d.find(`address"?[=:]"?([\d.:]+)`)
	idle := make([]net.Conn, 10_000)
	for i := range idle {
		conn := redistest.Must(net.DialTimeout("tcp", address, 20*time.Second))
		defer conn.Close()
		idle[i] = conn
	}
	closed := idle[len(idle)-200] // when it has accepted the last ones
	_ = closed.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := closed.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("it keeps all of them")
	}
	if code, _ := d.get("/healthz"); code != 200 {
		t.Errorf("/healthz says %d", code)
	}
	d.awaitReady(true)
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.command.Process.Pid))
	if err != nil {
		t.Skip(err)
	}
	if len(open) > 150 {
		t.Errorf("it has %d files open", len(open))
	}
}

// Goal: the order in which the server and its watchdogs start does not matter, nor does the
// server's end. Method: there is none at first, then one, then none, then one that is empty.
func TestLongAWatchdogOutlivesItsServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Kill()
	d := startDog(t, server.URL())
	d.find("no connection to Redis yet")
	if code, _ := d.get("/healthz"); code != 200 {
		t.Errorf("without a server /healthz says %d", code)
	}
	d.awaitReady(false)
	redistest.Eventually(t, 20*time.Second, func() bool {
		age, err := strconv.ParseFloat(d.metric("redlatch_watchdog_last_look_age_seconds"), 64)
		return err == nil && age > 0.5
	}, "the last look grows old before there was one")
	server.Restart(t)
	d.awaitReady(true)
	server.Kill()
	d.awaitReady(false)
	d.find("Redis does not answer")
	server.Restart(t)
	d.awaitReady(true)
	d.find("Redis answers again")
	d.signal(syscall.SIGINT)
	d.end(0)
}
