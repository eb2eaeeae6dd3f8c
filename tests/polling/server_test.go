package polling_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// Servers that do not allow messages.

// silentServers are servers on which the user of a URL can neither subscribe nor publish.
var silentServers = map[string]func(t *testing.T) (server *redistest.Server, url string){
	"by the user's rights": func(t *testing.T) (*redistest.Server, string) {
		server := redistest.Start(t)
		server.CLI(t, "ACL", "SETUSER", "silent", "on", ">secret", "~*", "+@all", "-@pubsub", "resetchannels")
		return server, fmt.Sprintf("redis://silent:secret@%s", server.Addr())
	},
	"without the commands": func(t *testing.T) (*redistest.Server, string) {
		server := redistest.Start(t, "--rename-command", "PUBLISH", "", "--rename-command", "SUBSCRIBE", "")
		return server, server.URL()
	},
}

// Goal: where nobody can publish, everything that is released is free, and whoever polls gets it. Method:
// two clients that poll and, where that is possible, one with messages pass each kind of lock on.
func TestLocksWhereMessagesAreNotAllowed(t *testing.T) {
	for name, start := range silentServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := start(t)
			clients := []*redlatch.Client{fixture.Open(t, url, spinConfig), fixture.Open(t, url, spinConfig)}
			if url != server.URL() {
				clients = append(clients, fixture.Open(t, server.URL(), redlatch.Config{PollCap: 200 * time.Millisecond}))
			}
			for _, k := range stage.LockKinds {
				t.Run(k.Name, func(t *testing.T) { passOn(t, clients, k) })
			}
			redistest.Eventually(t, 5*time.Second, func() bool { return len(server.Keys(t, "*")) == 0 }, "nothing is left")
			check.NothingIn(t, clients)
			wantNoRefusal(t, server)
		})
	}
}

// passOn has three goroutines of each client take a lock, and checks that they are alone.
func passOn(t *testing.T, clients []*redlatch.Client, k stage.Kind) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var readers, writers atomic.Int64
	var wg sync.WaitGroup
	for i := range 3 * len(clients) {
		wg.Go(func() {
			l, mine := k.Rival(clients[i/3], "job"), &writers
			if k.Name == "read" && i%3 > 0 {
				l, mine = k.Lock(clients[i/3], "job"), &readers
			}
			for range 3 {
				h, err := l.Lock(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				mine.Add(1)
				if r, w := readers.Load(), writers.Load(); w > 1 || w > 0 && r > 0 {
					t.Errorf("%d readers and %d writers inside", r, w)
				}
				time.Sleep(time.Millisecond)
				mine.Add(-1)
				if err := h.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// wantNoRefusal fails if the server refused something outside of a script.
func wantNoRefusal(t *testing.T, server *redistest.Server) {
	t.Helper()
	for _, entry := range server.CLI(t, "ACL", "LOG").([]any) {
		fields := entry.([]any)
		for i, f := range fields {
			if f == "context" && fields[i+1] == "toplevel" {
				t.Errorf("the server refused %v", fields)
			}
		}
	}
}

func TestCountersWhereMessagesAreNotAllowed(t *testing.T) {
	for name, start := range silentServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, url := start(t)
			one, other := fixture.Open(t, url, spinConfig), fixture.Open(t, url, spinConfig)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			sem, permits, latch := one.Semaphore("sem"), one.PermitSemaphore("permits"), one.Latch("latch")
			check.Must(sem.TrySetPermits(ctx, 1))
			check.Must(permits.TrySetPermits(ctx, 1))
			check.Must(latch.TrySetCount(ctx, 2))
			opened := make(chan error, 2)
			for _, c := range []*redlatch.Client{one, other} {
				go func() { opened <- c.Latch("latch").Wait(ctx) }()
			}
			var wg sync.WaitGroup
			var holders, holdersOfPermits atomic.Int64
			for i := range 4 {
				c := []*redlatch.Client{one, other}[i%2]
				wg.Go(func() {
					for range 5 {
						if err := c.Semaphore("sem").Acquire(ctx, 1); err != nil {
							t.Error(err)
							return
						}
						alone(t, &holders)
						if err := c.Semaphore("sem").Release(ctx, 1); err != nil {
							t.Error(err)
						}
						h, err := c.PermitSemaphore("permits").Acquire(ctx)
						if err != nil {
							t.Error(err)
							return
						}
						alone(t, &holdersOfPermits)
						if err := h.Unlock(ctx); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			for range 2 {
				if err := other.Latch("latch").CountDown(ctx); err != nil {
					t.Error(err)
				}
			}
			for range 2 {
				if err := <-opened; err != nil {
					t.Error("the latch:", err)
				}
			}
			wantNoRefusal(t, server)
		})
	}
}

// alone fails if somebody else is inside.
func alone(t *testing.T, inside *atomic.Int64) {
	t.Helper()
	if n := inside.Add(1); n > 1 {
		t.Errorf("%d inside", n)
	}
	time.Sleep(time.Millisecond)
	inside.Add(-1)
}

// Goal: WithBackoff is enough for a client of which one lock is contended: the release is done where the
// server refuses to publish, and the log is told of that alone.
func TestAnAcquisitionThatPollsWhereMessagesAreNotAllowed(t *testing.T) {
	t.Parallel()
	server, url := silentServers["by the user's rights"](t)
	var warnings atomic.Int64
	log := slog.New(fixture.LogHandler(func(message string) {
		t.Log(message)
		warnings.Add(1)
	}))
	cfg := redlatch.Config{Logger: log}
	one, other := fixture.Open(t, url, cfg), fixture.Open(t, url, cfg)
	for range 3 {
		h := check.Must(one.Mutex("job").Lock(t.Context()))
		freed := make(chan time.Time, 1)
		time.AfterFunc(300*time.Millisecond, func() {
			freed <- time.Now()
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		next := check.Must(other.Mutex("job").Lock(t.Context(), spin))
		check.Within(t, "wait after the release", time.Since(<-freed), 0, 128*time.Millisecond+fixture.Slack)
		if err := next.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if n := warnings.Load(); n > 2 {
		t.Errorf("%d warnings, want one of each client", n)
	}
	if keys := server.Keys(t, "*"); len(keys) > 0 {
		t.Errorf("left over: %v", keys)
	}
}
