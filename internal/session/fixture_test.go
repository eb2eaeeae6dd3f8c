package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/driver/rueidis"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/internal/script"
	"github.com/redlatch/redlatch/internal/session"
)

const (
	second = time.Second
	lease  = 6 * second // a heartbeat each second
)

// stage is a session and the server that it is on.
type stage struct {
	*session.Session
	*testing.T
	driver *flaky
	memory *memory.Driver // nil on a real server
	runner *script.Runner
	client string
	log    *log
	waits  atomic.Pointer[[]script.Wait] // that the client has
	looked atomic.Pointer[time.Time]     // when it was last asked for them
}

// wait makes the client have these waits, and no other.
func (s *stage) wait(waits ...script.Wait) { s.waits.Store(&waits) }

// bubble plays on a server in memory and in fake time.
func bubble(t *testing.T, play func(t *testing.T, s *stage)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { bubbled(t, func(s *stage) { play(t, s) }) })
}

func bubbled(t *testing.T, play func(s *stage)) {
	m := redistest.Must(memory.Open(context.WithoutCancel(t.Context()), memory.Options{}))
	defer m.Close()
	s := newStage(t, m)
	s.memory = m
	defer s.end()
	play(s)
}

// on plays on a real server, in real time.
func on(t *testing.T, server *redistest.Server) *stage {
	t.Helper()
	d := redistest.Must(rueidis.Open(t.Context(), rueidis.Options{Address: server.Addr(), CommandTimeout: second}))
	t.Cleanup(d.Close)
	s := newStage(t, d)
	t.Cleanup(s.end)
	return s
}

func newStage(t *testing.T, d driver.Driver) *stage {
	s := &stage{T: t, driver: &flaky{Driver: d}, client: redistest.Name(t), log: new(log)}
	s.wait()
	s.runner = script.NewRunner(s.driver, second)
	s.Session = session.New(session.Settings{
		Client: s.client, Listen: s.driver.Listen, Runner: s.runner, Lease: lease, Timeout: second,
		Waits: func(_ int, before time.Time) []script.Wait {
			now := time.Now()
			s.looked.Store(&now)
			return slices.DeleteFunc(slices.Clone(*s.waits.Load()), func(w script.Wait) bool { return !w.Since.Before(before) })
		},
		Logger: slog.New(slog.NewTextHandler(s.log, nil)),
	})
	return s
}

func (s *stage) end() {
	ctx, cancel := context.WithTimeout(context.Background(), second)
	defer cancel()
	_ = s.Stop(ctx)
}

// do sends a command that cannot fail.
func (s *stage) do(words ...string) driver.Reply {
	s.Helper()
	reply := s.driver.Driver.Do(context.Background(), driver.Command{Words: words, Key: words[min(1, len(words)-1)]})
	if reply.Err != nil {
		s.Fatal(words, reply.Err)
	}
	return reply
}

// listeners is how many are subscribed to a pulse of the client.
func (s *stage) listeners(pulse string) int64 {
	s.Helper()
	return s.do("PUBSUB", "NUMSUB", protocol.PulseChannel(s.client, pulse)).Array[1].Int
}

// named is the pulse that the session in Redis names.
func (s *stage) named() string {
	s.Helper()
	return s.do("HGET", protocol.SessionKey(s.client), protocol.SessionPulse).Str
}

// watchdog makes one count as alive for a while, ten seconds at most.
func (s *stage) watchdog(alive time.Duration) {
	s.Helper()
	redistest.Must(s.runner.Run(context.Background(), script.WatchdogHeartbeat("w", alive)))
}

// inRedis are the keys of which the session in Redis speaks, in order.
func (s *stage) inRedis() []string {
	s.Helper()
	var keys []string
	for _, key := range s.do("HKEYS", protocol.SessionKey(s.client)).Array {
		if key.Str != protocol.SessionPulse {
			keys = append(keys, key.Str)
		}
	}
	slices.Sort(keys)
	return keys
}

// wantInRedis fails if Redis is not told of just these keys at once.
func (s *stage) wantInRedis(what string, want ...string) {
	s.Helper()
	synctest.Wait()
	if got := s.inRedis(); !slices.Equal(got, want) {
		s.Errorf("%s Redis has %q, want %q", what, got, want)
	}
}

// enter and leave do what a client does with a grant and its end.
func (s *stage) enter(lock string) { s.Enter(entryOf(lock)) }
func (s *stage) leave(lock string) { s.Leave(entryOf(lock).Key()) }

func entryOf(lock string) script.SessionEntry {
	return script.SessionEntry{Field: "c:1", Lock: lock, Count: 1, Lease: lease}
}

// flaky is a driver that loses requests and replies.
type flaky struct {
	driver.Driver
	mu   sync.Mutex
	lose func() (request, reply bool)
	// before is called with what is about to be sent.
	before   func(commands []driver.Command)
	refused  func(command driver.Command) bool // for lack of a right
	refusing bool                              // it opens no listener
	events   driver.Events
	heard    string
}

// refuse makes it open no listener, or end that.
func (d *flaky) refuse(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refusing = on
}

func (d *flaky) Listen(ctx context.Context, events driver.Events) (driver.Listener, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.refusing {
		return nil, errCut
	}
	d.events = events
	return d.Driver.Listen(ctx, driver.Events{Subscribed: func(channel string) {
		d.mu.Lock()
		d.heard = channel
		d.mu.Unlock()
		if events.Subscribed != nil {
			events.Subscribed(channel)
		}
	}, Message: events.Message})
}

// again acknowledges the last subscription once more.
func (d *flaky) again() {
	d.mu.Lock()
	events, channel := d.events, d.heard
	d.mu.Unlock()
	events.Subscribed(channel)
}

var errCut = errors.New("connection cut")

func (d *flaky) set(lose func() (request, reply bool)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = lose
}

func (d *flaky) Do(ctx context.Context, command driver.Command) driver.Reply {
	return d.Pipeline(ctx, command)[0]
}

func (d *flaky) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	d.mu.Lock()
	var request, reply bool
	if d.lose != nil {
		request, reply = d.lose()
	}
	before := d.before
	d.mu.Unlock()
	if before != nil {
		before(commands)
	}
	replies := make([]driver.Reply, len(commands))
	if !request {
		replies = d.Driver.Pipeline(ctx, commands...)
	}
	for i, c := range commands {
		if d.refused != nil && d.refused(c) {
			replies[i] = driver.Reply{Err: &driver.ServerError{Message: "NOPERM no permissions"}}
		}
	}
	if request || reply {
		replies = slices.Repeat([]driver.Reply{{Err: errCut}}, len(commands))
	}
	return replies
}

// log is what was logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) count(words string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Count(l.text.Bytes(), []byte(words))
}
