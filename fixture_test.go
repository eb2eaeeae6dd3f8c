package redlatch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// quiet keeps the losses that tests provoke out of their output.
func quiet(cfg redlatch.Config) redlatch.Config {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return cfg
}

// eachServer runs a test on the embedded server and on a real one: the embedded
// server counts only because it passes the same tests.
func eachServer(t *testing.T, test func(t *testing.T, url string)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		test(t, "memory://"+redistest.Name(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, redistest.Shared(t).URL())
	})
}

// open connects a client for the length of a test.
func open(t *testing.T, url string, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	c, err := redlatch.Open(t.Context(), url, quiet(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error("close:", err)
		}
	})
	return c
}

// openOn returns a client on a driver, until the end of the test.
func openOn(t *testing.T, d driver.Driver) *redlatch.Client {
	t.Helper()
	c, err := redlatch.New(d, quiet(redlatch.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error("close:", err)
		}
	})
	return c
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// within fails unless got lies in [low, high].
func within[T int | int64 | time.Duration](t *testing.T, what string, got, low, high T) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %v, want between %v and %v", what, got, low, high)
	}
}

// is fails unless err matches each of the targets.
func is(t *testing.T, what string, err error, targets ...error) {
	t.Helper()
	for _, target := range targets {
		if !errors.Is(err, target) {
			t.Errorf("%s is %v, want one that matches %v", what, err, target)
		}
	}
}

// stage is what a story takes place on: a server of its own with its driver, inside
// a bubble of fake time, so that many leases take no time and every moment is exact.
type stage struct {
	*testing.T
	driver *spoiled
	memory *memory.Driver
	client *redlatch.Client
	others []*redlatch.Client
}

// story runs one.
func story(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { perform(t, cfg, tell) })
}

func perform(t *testing.T, cfg redlatch.Config, tell func(t *testing.T, s *stage)) {
	ctx := context.WithoutCancel(t.Context())
	m, err := memory.Open(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{T: t, driver: &spoiled{Driver: m}, memory: m}
	s.client = s.other(cfg)
	defer func() {
		for _, c := range s.others {
			if err := c.Close(ctx); err != nil {
				t.Error("close:", err)
			}
		}
		m.Close()
	}()
	tell(t, s)
}

// other returns one more client on the same server.
func (s *stage) other(cfg redlatch.Config) *redlatch.Client {
	s.Helper()
	c, err := redlatch.New(s.driver, quiet(cfg))
	if err != nil {
		s.Fatal(err)
	}
	s.others = append(s.others, c)
	return c
}

// ttl is what Redis says is left of a key.
func (s *stage) ttl(name string) time.Duration { return s.memory.Miniredis().TTL(name) }

// spoiled is a driver that counts what is sent and can lose requests and replies.
type spoiled struct {
	driver.Driver
	scripts atomic.Int64 // scripts sent
	trips   atomic.Int64 // requests sent, a pipeline being one

	mu   sync.Mutex
	fate func(words []string) fate
}

// fate is what becomes of a request.
type fate int

const (
	arrives     fate = iota
	isNotSent        // it never leaves
	isLost           // it is sent and never answered, and not carried out
	losesAnswer      // it is carried out and never answered
)

var errCut = errors.New("connection cut")

// spoil decides from now on what becomes of each request.
func (d *spoiled) spoil(fate func(words []string) fate) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fate = fate
}

func (d *spoiled) fateOf(commands []driver.Command) fate {
	d.trips.Add(1)
	for _, c := range commands {
		if strings.HasPrefix(c.Words[0], "EVAL") {
			d.scripts.Add(1)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fate == nil {
		return arrives
	}
	return d.fate(commands[0].Words)
}

func (d *spoiled) Do(ctx context.Context, c driver.Command) driver.Reply {
	return d.Pipeline(ctx, c)[0]
}

func (d *spoiled) Pipeline(ctx context.Context, commands ...driver.Command) []driver.Reply {
	lost := errCut
	switch d.fateOf(commands) {
	case arrives:
		return d.Driver.Pipeline(ctx, commands...)
	case losesAnswer:
		d.Driver.Pipeline(ctx, commands...)
	case isNotSent:
		lost = errors.Join(driver.ErrNotSent, errCut)
	}
	replies := make([]driver.Reply, len(commands))
	for i := range replies {
		replies[i].Err = lost
	}
	return replies
}
