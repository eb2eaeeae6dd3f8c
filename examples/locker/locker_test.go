package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
)

// The test binary is the command itself when a test starts it with asCommand in its environment.
const asCommand = "LOCKER_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
		os.Exit(0)
	}
	redistest.Main(m)
}

// start starts the service as a process, and returns its URL.
func start(t *testing.T, flags ...string) (url string, service *exec.Cmd) {
	t.Helper()
	service = exec.Command(os.Args[0], append(flags, "--listen", "127.0.0.1:0")...)
	service.Env, service.Stderr = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0"), t.Output()
	stdout, err := service.StdoutPipe()
	if err == nil {
		err = service.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Process.Kill(); _ = service.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	_, url, listens := strings.Cut(strings.TrimSpace(line), "listening on ")
	if !listens {
		t.Fatalf("it printed %q, %v", line, err)
	}
	return url, service
}

// answer is any answer of the service.
type answer struct {
	Code          int
	Result, Error string
	visit
	TTL     int64 `json:"ttl_ms"`
	Holders map[string]int
}

// begin sends a request whose answer comes later.
func begin(t *testing.T, url string) <-chan answer {
	later := make(chan answer, 1)
	go func() {
		var got answer
		response, err := http.Get(url)
		if err == nil {
			defer response.Body.Close()
			got.Code = response.StatusCode
			err = json.NewDecoder(response.Body).Decode(&got)
		}
		if err != nil {
			t.Error(err)
		}
		later <- got
	}()
	return later
}

// Goal: the README is true. Method: its experiments run as they stand, 25 times as fast, and print what it shows.
func TestTheExperimentsOfTheReadme(t *testing.T) {
	t.Parallel()
	url, _ := start(t, "--redis", redistest.Start(t).URL(), "--work", "2800ms", "--wait", "4s", "--lease", "400ms", "--watchdog", "1200ms")
	readme, err := os.ReadFile("README.md")
	experiments := regexp.MustCompile("(?s)```sh\n(curl.*?)```.*?```text\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	if len(experiments) != 2 {
		t.Fatalf("%d experiments, %v", len(experiments), err)
	}
	for i, renewed := range []bool{true, false} {
		faster := "locker=" + url + "\nsleep() { command sleep $(awk \"BEGIN { print $1/25 }\"); }\n"
		out, err := exec.CommandContext(t.Context(), "sh", "-euc", faster+experiments[i][1]).CombinedOutput()
		blurred := blur(string(out))
		for line := range strings.Lines(experiments[i][2]) {
			if line != "…\n" && !strings.Contains(blurred, blur(line)) {
				t.Errorf("the README shows %s and the service printed %v\n%s", line, err, out)
			}
		}
		var before answer
		rises := 0
		for line := range strings.Lines(string(out)) {
			var now answer
			_ = json.Unmarshal([]byte(line), &now)
			if maps.Equal(now.Holders, before.Holders) && now.TTL > before.TTL {
				rises++
			}
			before = now
		}
		if renewed != (rises > 0) {
			t.Errorf("the TTL rose %d times:\n%s", rises, out)
		}
	}
}

// blur takes out of a text what differs from run to run.
func blur(text string) string {
	return regexp.MustCompile(`[0-9a-f-]{36}:\d+|\d+`).ReplaceAllString(text, "N")
}

// Goal: a signal ends the service cleanly. Method: it comes when one request works and another one waits.
func TestASignalReleasesTheLock(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url, service := start(t, "--redis", server.URL())
	working := begin(t, url+"/v1/lock/redlatch/lock/test")
	redistest.Eventually(t, 10*time.Second, func() bool { return len(server.Keys(t, "test")) > 0 }, "the first request works")
	waiting := begin(t, url+"/v1/lock/redlatch/try-lock/test")
	redistest.Eventually(t, 10*time.Second, func() bool { return len(server.CLI(t, "PUBSUB", "CHANNELS", "*{test}").([]any)) > 0 }, "the second request waits")
	_ = service.Process.Signal(syscall.SIGTERM)
	for _, later := range []<-chan answer{working, waiting} {
		if got := <-later; got.Code != 503 || got.Error != "stopping" {
			t.Errorf("it answered %+v", got)
		}
	}
	if err := service.Wait(); err != nil {
		t.Error(err)
	}
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("keys are left over: %q", keys)
	}
}

// fake is a Locker whose errors a test sets.
type fake struct {
	Locker
	lock, unlock error
}

func (f fake) Lock(context.Context, string) (Held, error) {
	if f.lock != nil {
		return nil, f.lock
	}
	return f, nil
}

func (f fake) Owner() string                { return "fake:1" }
func (f fake) Context() context.Context     { return context.Background() }
func (f fake) Unlock(context.Context) error { return f.unlock }

// Goal: the client is told what happened, and by the worst error of several.
func TestWhatAClientIsToldOfAnError(t *testing.T) {
	for _, c := range []struct {
		f    fake
		code int
		word string
	}{
		{fake{}, 200, ""},
		{fake{lock: redlatch.ErrNotAcquired}, 423, "not_acquired"},
		{fake{lock: errors.Join(redlatch.ErrNotAcquired, context.Canceled)}, 499, "client_gone"},
		{fake{lock: errors.Join(redlatch.ErrNotAcquired, context.Canceled, errStopping)}, 503, "stopping"},
		{fake{unlock: errors.Join(errStopping, redlatch.ErrLost)}, 409, "lost"},
		{fake{lock: errors.New("dial tcp 10.1.2.3:6379: refused")}, 503, "redis_unavailable"},
	} {
		svc, got := &service{c.f, settings{}, slog.New(slog.NewTextHandler(t.Output(), nil))}, httptest.NewRecorder()
		svc.routes().ServeHTTP(got, httptest.NewRequest("GET", "/v1/lock/redlatch/lock/test", nil))
		if body := got.Body.String(); got.Code != c.code || !strings.Contains(body, c.word) || strings.Contains(body, "10.1.2.3") {
			t.Errorf("%+v was answered by %d %s", c.f, got.Code, body)
		}
	}
	readme, err := os.ReadFile("README.md")
	for _, p := range problems {
		if row := regexp.MustCompile(`(?m)^\| \d+ \| .*` + "`" + p.Error + "`"); p.status != clientGone && !row.Match(readme) {
			t.Errorf("README.md does not list %s, %v", p.Error, err)
		}
	}
}
