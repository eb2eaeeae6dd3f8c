package watchdog_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/watchdog"
)

// plain is a log handler that writes what it is given, as it is.
type plain struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *plain) Enabled(context.Context, slog.Level) bool { return true }
func (p *plain) WithAttrs([]slog.Attr) slog.Handler       { return p }
func (p *plain) WithGroup(string) slog.Handler            { return p }

func (p *plain) Handle(_ context.Context, r slog.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		p.text.WriteString(" " + a.Key + "=" + a.Value.String())
		return true
	})
	p.text.WriteString("\n")
	return nil
}

func (p *plain) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// Goal: no name that somebody writes into Redis forges a line of the log, or fills it, and
// each is told of once. Method: a handler that quotes nothing.
func TestWhatIsReadFromRedisIsQuotedInTheLog(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := connect(t, server.Addr())
	const id = "nb\nroot-logged-in\x1b[2J"
	n := newNeighbour(t, server, d, id, "victim:1 job", "exclusive 1 1000 0", id+":1 mine", "exclusive 1 1000 0")
	n.lock("mine", id+":1", time.Minute)
	server.CLI(t, "ZADD", "redlatch:sessions", "1", "dead\nall is well", "2", strings.Repeat("n", 1<<20))
	log := new(plain)
	w := runWith(t, d, watchdog.Config{}, slog.New(log))
	eventually(t, func() bool { return strings.Contains(log.String(), "are not renewed") }, "it tells of an entry")
	eventually(t, func() bool { return strings.Contains(log.String(), "session removed") }, "it tells of the dead")
	eventually(t, func() bool { return w.Stats().Renewals > 4 }, "it meets the entry again")
	server.CLI(t, "ZADD", "redlatch:sessions", "9000000000000", n.id)
	eventually(t, func() bool { return strings.Contains(log.String(), "not stalled any more") }, "it tells who is back")
	text := log.String()
	if strings.Contains(text, "\nroot") || strings.Contains(text, "\nall") || strings.Contains(text, "\x1b") {
		t.Errorf("the log has\n%s", text)
	}
	if strings.Count(text, "are not renewed") != 1 || len(text) > 4000 {
		t.Errorf("the log has %d bytes:\n%.4000s", len(text), text)
	}
}

// Goal: what a user of the metrics is told to alert on can be alerted on from the start.
func TestTheAgeOfTheLastLookGrowsFromTheStart(t *testing.T) {
	t.Parallel()
	idle := redistest.Must(watchdog.New(connect(t, redistest.Shared(t).Addr()), watchdog.Config{}))
	age := func() string {
		_, body := get(idle, "/metrics")
		_, after, _ := strings.Cut(body, "\nredlatch_watchdog_last_look_age_seconds ")
		line, _, _ := strings.Cut(after, "\n")
		return line
	}
	first := age()
	if first == "" || strings.HasPrefix(first, "-") {
		t.Errorf("before the first look its age is %q", first)
	}
	redistest.Eventually(t, 5*time.Second, func() bool { return age() != first }, "it grows")
}
