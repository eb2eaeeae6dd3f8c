package console

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/inspect"
)

// source is a Redis that a test plays: it says what the test puts into it.
type source struct {
	mu       sync.Mutex
	snapshot inspect.Snapshot
	err      error
	changed  chan struct{} // closed at each change
	readers  int           // that run
	began    int           // readers so far
	ended    chan struct{} // gets one for each reader that has ended
}

func newSource(locks ...inspect.Lock) *source {
	return &source{snapshot: reading(locks...), changed: make(chan struct{}), ended: make(chan struct{}, 10)}
}

func reading(locks ...inspect.Lock) inspect.Snapshot {
	return inspect.Snapshot{At: time.Now(), Walked: true, Locks: locks}
}

func (s *source) Follow(ctx context.Context, _ string, every time.Duration) iter.Seq2[inspect.Snapshot, error] {
	return func(yield func(inspect.Snapshot, error) bool) {
		s.count(1)
		defer func() { s.count(-1); s.ended <- struct{}{} }()
		for ctx.Err() == nil {
			s.mu.Lock()
			changed, snapshot, err := s.changed, s.snapshot, s.err
			s.mu.Unlock()
			if err != nil {
				snapshot = inspect.Snapshot{}
			}
			if !yield(snapshot, err) {
				return
			}
			select {
			case <-ctx.Done():
			case <-changed:
			case <-time.After(every):
			}
		}
	}
}

func (s *source) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers += n
	s.began += max(0, n)
}

func (s *source) set(snapshot inspect.Snapshot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.snapshot, s.err = snapshot, err
	close(s.changed)
	s.changed = make(chan struct{})
}

// stage is a console behind an HTTP server.
type stage struct {
	*testing.T
	console *Console
	url     string
}

const testToken = "0123456789abcdefghijklmnopqrstuv"

func serve(t *testing.T, s Source, o Options) *stage {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	c := must1(New(s, o))
	server := httptest.NewServer(http.StripPrefix("/some/where", c))
	t.Cleanup(func() { c.Close(); server.Close(); http.DefaultClient.CloseIdleConnections() })
	return &stage{t, c, server.URL + "/some/where"}
}

// ask sends a request with headers "Name: value", and returns the status and the answer.
func (s *stage) ask(method, path, body string, headers ...string) (int, string, http.Header) {
	s.Helper()
	r := must1(http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(body)))
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Set(name, value); name == "Host" {
			r.Host = value
		}
	}
	answer := must1(http.DefaultClient.Do(r))
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK && path == "/events" {
		return answer.StatusCode, "", answer.Header // it does not end by itself
	}
	text := must1(io.ReadAll(answer.Body))
	return answer.StatusCode, string(text), answer.Header
}

// askWithin sends a request as a viewer that vanishes when ctx ends, and returns the error.
func (s *stage) askWithin(ctx context.Context, method, path, body, header string) error {
	s.Helper()
	r := must1(http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body)))
	name, value, _ := strings.Cut(header, ": ")
	r.Header.Set(name, value)
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		answer.Body.Close()
	}
	return err
}

// watcher reads the stream as a browser does.
type watcher struct {
	*testing.T
	lines *bufio.Reader
	leave func()
}

func (s *stage) watch() *watcher {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), 20*time.Second)
	s.Cleanup(cancel)
	r, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/events", nil)
	answer := must1(http.DefaultClient.Do(r))
	s.Cleanup(func() { answer.Body.Close() })
	return &watcher{s.T, bufio.NewReader(answer.Body), func() { cancel(); answer.Body.Close() }}
}

// next returns the next event that is no beat.
func (w *watcher) next() (kind string, data got) {
	w.Helper()
	for {
		line, err := w.lines.ReadString('\n')
		if err != nil {
			w.Fatal("the stream ended: ", err)
		}
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "event: "); ok {
			kind = text
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok && kind != "beat" {
			if err := json.Unmarshal([]byte(text), &data); err != nil {
				w.Fatal(err)
			}
			return kind, data
		}
	}
}

// until returns the next event of a kind.
func (w *watcher) until(kind string) got {
	w.Helper()
	for {
		if found, data := w.next(); found == kind {
			return data
		}
	}
}

// begin reads until a table is complete that has something in it, or a change brings it.
func (w *watcher) begin(rows int) map[string]row {
	w.Helper()
	table := map[string]row{}
	for len(table) < rows {
		_, data := w.next()
		for _, r := range data.Set {
			table[r.Name] = r
		}
	}
	return table
}

// got is any event.
type got struct {
	Title  string   `json:"title"`
	Set    []row    `json:"set"`
	Gone   []string `json:"gone"`
	Text   string   `json:"text"`
	Hint   string   `json:"hint"`
	Walked bool     `json:"walked"`
	Unlock bool     `json:"unlock"`
	Notice string   `json:"notice"`
	Hidden int      `json:"hidden"`
}

// held is a mutex that an owner holds.
func held(name, owner string, ttl time.Duration) inspect.Lock {
	return inspect.Lock{
		Name: name, Kind: inspect.KindMutex, Mode: redlatch.ModeExclusive, TTL: ttl, Owners: 1, Waiting: -1, Seen: time.Now(),
		Holders: []inspect.Holder{{Owner: owner, Count: 1, TTL: ttl}},
	}
}

// open opens a client on a server of its own.
func open(t *testing.T) *redlatch.Client {
	t.Helper()
	c := must1(redlatch.Open(t.Context(), "memory://", redlatch.Config{Logger: slog.New(slog.DiscardHandler)}))
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}
