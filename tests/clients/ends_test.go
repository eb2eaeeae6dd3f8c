package clients_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
	"github.com/redlatch/redlatch/tests/internal/stage"
)

// work is something that was begun: how it ends, and whether Redis knows of the end.
type work struct {
	end  func(ctx context.Context) error
	over func(ctx context.Context) bool
}

// held is work under a lock, which is called "job".
func held(of func(c *redlatch.Client, name string) redlatch.Lock, opts ...redlatch.LockOption) func(ctx context.Context, s *stage.Stage) work {
	return func(ctx context.Context, s *stage.Stage) work {
		h := check.Must(of(s.Client, "job").Lock(ctx, opts...))
		return work{h.Unlock, func(context.Context) bool { return !s.Memory.Miniredis().Exists("job") }}
	}
}

// endings are all calls that end work.
var endings = []struct {
	call  string
	begin func(ctx context.Context, s *stage.Stage) work
}{
	{"`Hold.Unlock`", held(stage.MutexOf)},
	{"the same, of a `Multi`", held(stage.MultiOf)},
	{"the same, with `WithCohort`", held(stage.MutexOf, redlatch.WithCohort(time.Second))},
	{"the same, of a permit", func(ctx context.Context, s *stage.Stage) work {
		far := s.Stranger().PermitSemaphore("job")
		check.Must(far.TrySetPermits(ctx, 1))
		h := check.Must(s.Client.PermitSemaphore("job").Acquire(ctx))
		return work{h.Unlock, func(ctx context.Context) bool { return check.Must(far.Available(ctx)) == 1 }}
	}},
	{"`Semaphore.Release`", func(ctx context.Context, s *stage.Stage) work {
		far, sem := s.Stranger().Semaphore("job"), s.Client.Semaphore("job")
		check.Must(far.TrySetPermits(ctx, 1))
		check.Must(0, sem.Acquire(ctx, 1))
		return work{
			func(ctx context.Context) error { return sem.Release(ctx, 1) },
			func(ctx context.Context) bool { return check.Must(far.Available(ctx)) == 1 },
		}
	}},
	{"`Latch.CountDown`", func(ctx context.Context, s *stage.Stage) work {
		far := s.Stranger().Latch("job")
		h := check.Must(s.Client.Mutex("work").Lock(ctx)) // without it, Shutdown has nothing to wait for
		context.AfterFunc(ctx, func() { _ = h.Unlock(ctx) })
		check.Must(far.TrySetCount(ctx, 1))
		return work{s.Client.Latch("job").CountDown, func(ctx context.Context) bool { return check.Must(far.Count(ctx)) == 0 }}
	}},
}

// cut is for how long the server is cut off.
const cut = time.Minute

// situations are what work may end in. Each returns the context of the call.
var situations = []struct {
	name  string
	comes func(t *testing.T, ctx context.Context, s *stage.Stage) context.Context
}{
	{"During `Shutdown`", func(t *testing.T, ctx context.Context, s *stage.Stage) context.Context {
		fixture.Shutting(t, s.Client, ctx)
		return ctx
	}},
	{"After `Close`", func(_ *testing.T, ctx context.Context, s *stage.Stage) context.Context {
		check.Must(0, s.Client.Close(ctx))
		return ctx
	}},
	{"With a context that has ended", func(_ *testing.T, ctx context.Context, _ *stage.Stage) context.Context {
		ended, end := context.WithCancel(ctx)
		end()
		return ended
	}},
	{"While the server is cut off for a minute", func(_ *testing.T, ctx context.Context, s *stage.Stage) context.Context {
		s.Driver.Spoil(func([]string) stage.Fate { return stage.Lost })
		time.AfterFunc(cut, func() { s.Driver.Spoil(nil) })
		return ctx
	}},
}

// Goal: the page says what becomes of each call that ends work, whatever comes between. Method: make every call in
// every situation, write the table anew, and look for it in the page.
func TestThePageOnShutdownHasTheTableOfEnds(t *testing.T) {
	t.Parallel()
	table, rule := "| Call |", "|---|"
	for _, in := range situations {
		table, rule = table+" "+in.name+" |", rule+"---|"
	}
	table += "\n" + rule + "\n"
	for _, e := range endings {
		table += "| " + e.call + " |"
		for _, in := range situations {
			stage.Story(t, redlatch.Config{}, func(t *testing.T, s *stage.Stage) {
				ctx := s.Limited()
				w := e.begin(ctx, s)
				called := in.comes(t, ctx, s)
				table += " " + outcome(ctx, w, w.end(called)) + " |"
			})
		}
		table += "\n"
	}
	if page, err := os.ReadFile("../../docs/shutdown.md"); err != nil || !strings.Contains(string(page), "\n\n"+table+"\n") {
		t.Errorf("docs/shutdown.md lacks this table (%v):\n\n%s", err, table)
	}
}

// outcome says what a call returned, and when Redis knows of the end.
func outcome(ctx context.Context, w work, err error) string {
	name := "no error"
	for _, target := range []struct {
		name string
		err  error
	}{{"`ErrClosed`", redlatch.ErrClosed}, {"`ErrLost`", redlatch.ErrLost}, {"`ErrUnknownOutcome`", redlatch.ErrUnknownOutcome}} {
		if errors.Is(err, target.err) {
			name = target.name
		}
	}
	if err != nil && name == "no error" {
		return err.Error()
	}
	began := time.Now()
	for !w.over(ctx) {
		if time.Since(began) > 2*cut {
			return name + "; takes no effect"
		}
		time.Sleep(max(time.Since(began)/10, 10*time.Millisecond))
	}
	switch took := time.Since(began); {
	case took <= 20*time.Millisecond && err == nil: // a cohort lets go of its lock a little later
		return "works"
	case took < 34*time.Second:
		return name + "; free when the lease ends"
	case took < cut+10*time.Second:
		return name + "; takes effect when the server is back"
	default:
		return name + "; takes effect after " + took.String()
	}
}
