package e2e

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/console"
	"github.com/redlatch/redlatch/inspect"
	"github.com/redlatch/redlatch/internal/redistest"
)

// source is a Redis that a test plays: it says what the test puts into it.
type source struct {
	mu      sync.Mutex
	locks   []inspect.Lock
	permits []inspect.Counter
	events  []inspect.Event // since the last reading
	err     error
	ago     time.Duration // how old the first reading is
	changed chan struct{} // closed at each change

	unwalked bool // not all keys have been looked at
}

func newSource(locks ...inspect.Lock) *source {
	return &source{locks: locks, changed: make(chan struct{})}
}

// Follow is that of an Inspector.
func (s *source) Follow(ctx context.Context, _ string, every time.Duration) iter.Seq2[inspect.Snapshot, error] {
	return func(yield func(inspect.Snapshot, error) bool) {
		for ctx.Err() == nil {
			s.mu.Lock()
			changed, err := s.changed, s.err
			snapshot := inspect.Snapshot{At: time.Now().Add(-s.ago), Walked: !s.unwalked, Locks: s.locks, Events: s.events}
			s.events, s.ago = nil, 0
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

// Permits is that of an Inspector.
func (s *source) Permits(context.Context, string) iter.Seq2[inspect.Counter, error] {
	return func(yield func(inspect.Counter, error) bool) {
		for _, c := range s.permits {
			if !yield(c, nil) {
				return
			}
		}
	}
}

func (s *source) set(locks []inspect.Lock, events ...inspect.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.locks, s.events, s.err = locks, append(s.events, events...), nil
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *source) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	close(s.changed)
	s.changed = make(chan struct{})
}

// stage is a console, and a tab that looks at it.
type stage struct {
	*testing.T
	tab     context.Context
	options console.Options
	source  console.Source
	address string
	server  *http.Server
	console *console.Console
	wrap    func(http.Handler) http.Handler // what stands before the console; nil: nothing

	mu     sync.Mutex
	errors []string // that the browser logged
}

const testToken = "0123456789abcdefghijklmnopqrstuv"

// open serves a console below a path, and opens it in a new tab.
func open(t *testing.T, source console.Source, options console.Options) *stage {
	t.Helper()
	options.Logger, options.Every = slog.New(slog.DiscardHandler), 100*time.Millisecond
	s := &stage{T: t, options: options, source: source, address: net.JoinHostPort("127.0.0.1", strconv.Itoa(redistest.Must(redistest.FreePort())))}
	s.serve()
	t.Cleanup(func() { s.stop() })
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil {
		t.Fatal(err)
	}
	tab, cancel := context.WithTimeout(tab, redistest.Patience(30*time.Second))
	t.Cleanup(cancel)
	s.tab = tab
	if err := chromedp.Listen(tab, s.hear); err != nil {
		t.Fatal(err)
	}
	call(s, log.Enable, cdp.Empty{})
	s.do(chromedp.EmulateViewport(1280, 800), chromedp.Navigate(s.url()))
	return s
}

func (s *stage) url() string { return "http://" + s.address + "/admin/locks/" }

// serve starts a console, on the address of before if there was one.
func (s *stage) serve() {
	s.Helper()
	var err error
	if s.console, err = console.New(s.source, s.options); err != nil {
		s.Fatal(err)
	}
	s.listen()
}

// listen serves the console that there is.
func (s *stage) listen() {
	s.Helper()
	listener := redistest.Must(net.Listen("tcp", s.address))
	s.address = listener.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/admin/locks/", http.StripPrefix("/admin/locks", s.console))
	s.server = &http.Server{Handler: mux}
	if s.wrap != nil {
		s.server.Handler = s.wrap(mux)
	}
	go s.server.Serve(listener)
}

func (s *stage) stop() {
	s.server.Close()
	s.console.Close()
}

// mouse presses or releases the button at a place.
func (s *stage) mouse(kind input.DispatchMouseEventType, at []float64) {
	s.Helper()
	call(s, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at[0], Y: at[1], Button: input.MouseButtonLeft, ClickCount: 1})
}

// hear keeps what the browser logs as an error: exceptions, and what the policy forbids.
func (s *stage) hear(event any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			s.errors = append(s.errors, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		s.errors = append(s.errors, fmt.Sprint(e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	}
}

// clean checks that the browser has logged no error.
func (s *stage) clean() {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.errors {
		s.Error("the browser logged:", e)
	}
}

func (s *stage) do(actions ...chromedp.Action[chromedp.Void]) {
	s.Helper()
	if err := chromedp.Do(s.tab, actions...); err != nil {
		s.clean()
		s.Fatal(err)
	}
}

// until waits for an expression to be true.
func (s *stage) until(expression string, args ...any) {
	s.Helper()
	expression = fmt.Sprintf(expression, args...)
	if err := chromedp.Do(s.tab, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(redistest.Patience(10*time.Second)))); err != nil {
		text, _ := chromedp.Run(s.tab, chromedp.Evaluate[string](`[...document.querySelectorAll("input")].map((e) => e.id + "=" + JSON.stringify(e.value) + "\n").join("") + document.body.innerText`))
		s.clean()
		s.Fatalf("%s: %v; the page says:\n%s", expression, err, text)
	}
}

// value evaluates an expression.
func value[T any](s *stage, expression string, args ...any) T {
	s.Helper()
	v, err := chromedp.Run(s.tab, chromedp.Evaluate[T](fmt.Sprintf(expression, args...), chromedp.EvalAwaitPromise))
	if err != nil {
		s.Fatalf("%s: %v", expression, err)
	}
	return v
}

// run evaluates an expression for what it does.
func (s *stage) run(expression string, args ...any) {
	s.Helper()
	s.do(chromedp.Evaluate[chromedp.Void](fmt.Sprintf(expression, args...), chromedp.EvalAwaitPromise))
}

// call sends the tab a command of the protocol.
func call[P, R any](s *stage, command cdp.Command[P, R], params P) {
	s.Helper()
	redistest.Must(chromedp.Call(s.tab, command, params))
}

// keys presses keys, wherever the focus is. The text of a key goes with the press, as from a keyboard: a page
// that takes the press for itself gets no text. chromedp.KeyEvent sends the text apart, in any case.
func (s *stage) keys(text string) {
	s.Helper()
	for _, r := range text {
		events := kb.Encode(r)
		for _, e := range events {
			switch {
			case e.Type == kb.KeyChar:
				continue
			case e.Type == kb.KeyDown && len(events) == 3:
				e.Text, e.UnmodifiedText = events[1].Text, events[1].UnmodifiedText
			}
			call(s, input.DispatchKeyEvent, *e)
		}
	}
}

// names are the locks in the table, from above.
func (s *stage) names() string {
	s.Helper()
	return value[string](s, namesNow)
}

const namesNow = `[...document.querySelectorAll(".line")].sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((e) => e.querySelector(".name").textContent).join(" ")`

const client = "6ba7b810-9dad-11d1-80b4-00c04fd430c%d"

// owner is that of a goroutine of a client.
func owner(process, number int) string { return fmt.Sprintf(client+":%d", process, number) }

// held is a mutex that somebody holds.
func held(name, owner, process string, ttl time.Duration) inspect.Lock {
	l := inspect.Lock{
		Name: name, Kind: inspect.KindMutex, Mode: redlatch.ModeExclusive, Owners: 1, TTL: ttl, Waiting: -1, Seen: time.Now(),
		Holders: []inspect.Holder{{Owner: owner, Count: 1, TTL: ttl}},
	}
	if process != "" {
		id, _, _ := strings.Cut(owner, ":")
		l.Holders[0].Process = &inspect.Process{Client: id, Name: process, Addr: "10.0.3.17:51234"}
	}
	return l
}
