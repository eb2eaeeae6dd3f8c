package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// app is a service as a client sees it.
type app struct {
	*testing.T
	url  string
	http *http.Client
	log  *journal
}

// journal is what a service writes to stderr.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

var listening = regexp.MustCompile(`listening on (http://\S+), `)

// start runs the whole service on a free port until the end of the test.
func start(t *testing.T, flags ...string) *app {
	t.Helper()
	s, err := readSettings(append(flags, "--listen", "127.0.0.1:0"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	a := newApp(t)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	lines, stdout := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, s, stdout, a.log)
		stdout.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error("the service ended with", err)
		}
	})
	a.meet(lines)
	return a
}

func newApp(t *testing.T) *app {
	a := &app{T: t, http: &http.Client{Transport: &http.Transport{}}, log: &journal{}}
	t.Cleanup(a.http.CloseIdleConnections)
	return a
}

// meet reads where the service listens from its output.
func (a *app) meet(stdout io.Reader) {
	a.Helper()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	match := listening.FindStringSubmatch(line)
	if match == nil {
		a.Fatalf("it does not listen: %q, %v\n%s", line, err, a.log)
	}
	a.url = match[1]
}

// eachServer runs a test on the embedded server and on a real one.
func eachServer(t *testing.T, test func(t *testing.T, redis string)) {
	t.Helper()
	t.Parallel()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, "memory://"+redistest.Name(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Shared(t).URL())
	})
}

// answer is any answer of the service.
type answer struct {
	code    int
	Result  string
	Error   string
	Message string
	visit
	Locked  bool
	TTL     int64 `json:"ttl_ms"`
	Holders []lockHolder
	itemStock
	Left int
}

// owner is the one holder that a status shows, or "".
func (a answer) owner() string {
	if len(a.Holders) != 1 {
		return ""
	}
	return a.Holders[0].Owner
}

// The paths of the service.
const (
	pathLock    = "/v1/lock/redlatch/lock/"
	pathTryLock = "/v1/lock/redlatch/try-lock/"
	pathStatus  = "/v1/lock/redlatch/status/"
	pathStock   = "/v1/stock/"
	pathWith    = "/v1/stock/with-lock/"
	pathWithout = "/v1/stock/without-lock/"
)

// send sends a request and reads the answer.
func (a *app) send(ctx context.Context, method, path string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, a.url+path, nil)
	if err != nil {
		return answer{}, err
	}
	response, err := a.http.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	got := answer{code: response.StatusCode}
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &got)
	}
	if err != nil || response.Header.Get("Content-Type") != "application/json" {
		return got, fmt.Errorf("%s %s: %d %q is not JSON: %v", method, path, response.StatusCode, body, err)
	}
	return got, nil
}

// ask is send for the test's own goroutine.
func (a *app) ask(method, path string) answer {
	a.Helper()
	got, err := a.send(a.Context(), method, path)
	if err != nil {
		a.Fatal(err)
	}
	return got
}

// begin sends a request whose answer comes later.
func (a *app) begin(method, path string) <-chan answer {
	later := make(chan answer, 1)
	go func() {
		got, err := a.send(a.Context(), method, path)
		if err != nil {
			got.Error = err.Error()
		}
		later <- got
	}()
	return later
}

// status asks who holds a lock.
func (a *app) status(name string) answer {
	a.Helper()
	return a.ask("GET", pathStatus+name)
}

// awaitOwner waits until another owner than these holds the lock.
func (a *app) awaitOwner(name string, others ...string) string {
	a.Helper()
	known := map[string]bool{"": true}
	for _, o := range others {
		known[o] = true
	}
	var owner string
	redistest.Eventually(a, 10*time.Second, func() bool {
		owner = a.status(name).owner()
		return !known[owner]
	}, "a new owner has "+name)
	return owner
}

// watch asks for the status again and again until the answer is there.
func (a *app) watch(name string, later <-chan answer) (seen []answer, last answer) {
	a.Helper()
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for {
		seen = append(seen, a.status(name))
		select {
		case last = <-later:
			return seen, last
		case <-pause.C:
		}
	}
}

// rises counts how often the TTL jumped up while one and the same owner had the lock.
func rises(seen []answer) (n int) {
	for i := 1; i < len(seen); i++ {
		before, now := seen[i-1], seen[i]
		if now.owner() != "" && now.owner() == before.owner() && now.TTL > before.TTL {
			n++
		}
	}
	return n
}

// is fails unless the answer has the code and the word: that of an error, or of a
// result.
func (a answer) is(t *testing.T, what string, code int, word string) {
	t.Helper()
	if a.code != code || a.Error+a.Result != word {
		t.Errorf("%s was answered by %d %q, want %d %q: %+v", what, a.code, a.Error+a.Result, code, word, a)
	}
	if a.Error != "" && a.Message == "" {
		t.Errorf("%s: the error %q has no message", what, a.Error)
	}
}
