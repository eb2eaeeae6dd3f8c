package redlatchprom_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver/memory"
	"github.com/redlatch/redlatch/redlatchprom"
)

// stage is a server in a bubble of fake time, and a client that is measured.
type stage struct {
	ctx     context.Context
	driver  *memory.Driver
	client  *redlatch.Client
	metrics *redlatchprom.Metrics
}

// story runs on a stage.
func story(t *testing.T, o redlatchprom.Options, tell func(t *testing.T, s *stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Hour)
		t.Cleanup(cancel)
		d := must(memory.Open(ctx, memory.Options{}))
		t.Cleanup(d.Close)
		s := &stage{ctx: ctx, driver: d, metrics: redlatchprom.New(o)}
		s.client = s.open(t, redlatch.Config{Observer: s.metrics})
		s.metrics.Watch(s.client)
		tell(t, s)
	})
}

// open returns a client, until the end of the bubble.
func (s *stage) open(t *testing.T, cfg redlatch.Config) *redlatch.Client {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	c := must(redlatch.New(s.driver, cfg))
	t.Cleanup(func() {
		if err := c.Close(s.ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// want compares some series with what is exported.
func (s *stage) want(t *testing.T, series ...string) {
	t.Helper()
	synctest.Wait()
	all := exposition(t, s.metrics)
	for _, one := range series {
		if !strings.Contains(all, "\n"+one+"\n") {
			name, _, _ := strings.Cut(one, "{")
			var others []string
			for line := range strings.Lines(all) {
				if strings.HasPrefix(line, name) {
					others = append(others, line)
				}
			}
			t.Errorf("%s is not exported, but:\n%s", one, strings.Join(others, ""))
		}
	}
}

// exposition is what is exported, as text.
func exposition(t *testing.T, m *redlatchprom.Metrics) string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	out := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(out, httptest.NewRequest("GET", "/metrics", nil))
	if out.Code != 200 {
		t.Fatal(out.Body)
	}
	return "\n" + out.Body.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Goal: waits, holds and renewals are measured in seconds, by the kind of lock and how they ended.
func TestTimesAreMeasuredByKind(t *testing.T) {
	story(t, redlatchprom.Options{}, func(t *testing.T, s *stage) {
		job := s.client.Mutex("job")
		first := must(job.Lock(s.ctx))
		if _, err := job.TryLock(s.ctx); !errors.Is(err, redlatch.ErrNotAcquired) {
			t.Fatal(err)
		}
		time.Sleep(15 * time.Second)
		if err := first.Unlock(s.ctx); err != nil {
			t.Error(err)
		}
		must(s.client.FairMutex("fair").Lock(s.ctx)).Detach()
		must(s.client.RWMutex("rw").Lock(s.ctx, redlatch.WithLease(time.Second)))
		time.Sleep(2 * time.Second)
		must(s.client.RWMutex("rw").RLock(s.ctx))
		if err := s.client.Close(s.ctx); err != nil {
			t.Error(err)
		}
		_, err := job.Lock(s.ctx)
		if !errors.Is(err, redlatch.ErrClosed) {
			t.Error(err)
		}
		s.want(t,
			`redlatch_wait_duration_seconds_count{kind="mutex",outcome="acquired"} 1`,
			`redlatch_wait_duration_seconds_count{kind="mutex",outcome="not_acquired"} 1`,
			`redlatch_wait_duration_seconds_count{kind="mutex",outcome="closed"} 1`,
			`redlatch_wait_duration_seconds_count{kind="fair",outcome="acquired"} 1`,
			`redlatch_hold_duration_seconds_bucket{end="released",kind="mutex",le="10"} 0`,
			`redlatch_hold_duration_seconds_bucket{end="released",kind="mutex",le="30"} 1`,
			`redlatch_hold_duration_seconds_count{end="detached",kind="fair"} 1`,
			`redlatch_hold_duration_seconds_count{end="lost",kind="write"} 1`,
			`redlatch_hold_duration_seconds_count{end="closed",kind="read"} 1`,
			`redlatch_renewal_duration_seconds_count{kind="mutex"} 1`,
			`redlatch_renewal_margin_seconds_bucket{kind="mutex",le="17.5"} 0`,
			`redlatch_renewal_margin_seconds_bucket{kind="mutex",le="20"} 1`,
		)
	})
}

// Goal: an alert sees the first loss. Method: the counter stands at zero before it.
func TestCountersBeginAtZero(t *testing.T) {
	story(t, redlatchprom.Options{}, func(t *testing.T, s *stage) {
		s.want(t,
			`redlatch_losses_total{kind="mutex",reason="gone"} 0`,
			`redlatch_losses_total{kind="permit",reason="gone"} 0`,
			`redlatch_late_renewals_total{kind="read"} 0`,
			`redlatch_forced_unlocks_total{kind="fair"} 0`,
			`redlatch_failed_renewals_total 0`,
		)
		must(s.client.Mutex("job").Lock(s.ctx))
		must(s.client.Mutex("job").ForceUnlock(s.ctx))
		must(s.client.Mutex("brief").Lock(s.ctx, redlatch.WithLease(time.Second)))
		time.Sleep(time.Minute)
		s.want(t,
			`redlatch_forced_unlocks_total{kind="mutex"} 1`,
			`redlatch_losses_total{kind="mutex",reason="gone"} 1`,
			`redlatch_losses_total{kind="mutex",reason="ended"} 1`,
			`redlatch_losses_total{kind="mutex",reason="expired"} 0`,
		)
	})
}

// Goal: a renewal after half of the lease is late, and the margin of one that a watchdog made
// unnecessary is zero, so that the sum never falls.
func TestLateRenewalsAreCounted(t *testing.T) {
	m := redlatchprom.New(redlatchprom.Options{})
	m.Observe(t.Context(), redlatch.Event{Kind: redlatch.EventRenewed, LockKind: redlatch.KindFair, Late: true, Left: -time.Second})
	all := exposition(t, m)
	for _, series := range []string{
		`redlatch_late_renewals_total{kind="fair"} 1`,
		`redlatch_renewal_margin_seconds_bucket{kind="fair",le="0"} 1`,
		`redlatch_renewal_margin_seconds_sum{kind="fair"} 0`,
	} {
		if !strings.Contains(all, "\n"+series+"\n") {
			t.Errorf("%s is not exported", series)
		}
	}
}

// Goal: the gauges are those of all clients that are watched, each once, and of the oldest of their holds.
func TestGaugesAddUpClients(t *testing.T) {
	story(t, redlatchprom.Options{}, func(t *testing.T, s *stage) {
		other := s.open(t, redlatch.Config{})
		s.metrics.Watch(nil)
		s.metrics.Watch(other)
		s.metrics.Watch(other)
		must(s.client.Mutex("a").Lock(s.ctx))
		time.Sleep(7 * time.Second)
		hold := must(other.Mutex("b").Lock(s.ctx))
		var done sync.WaitGroup
		done.Go(func() { must(s.client.Mutex("b").Lock(s.ctx)) })
		synctest.Wait()
		s.want(t, `redlatch_holds 2`, `redlatch_waiters 1`, `redlatch_subscriptions 1`, `redlatch_watchdogs 0`, `redlatch_protected_holds 0`,
			`redlatch_oldest_hold_seconds{kind="mutex"} 7`, `redlatch_oldest_hold_seconds{kind="fair"} 0`)
		if err := hold.Unlock(s.ctx); err != nil {
			t.Error(err)
		}
		done.Wait()
	})
}

// Goal: names are exported only if that is asked for, and no more of them than the bound. A name
// that is no UTF-8 does not cost the others their export.
func TestNamesAreExportedIfAskedForAndBounded(t *testing.T) {
	for _, o := range []redlatchprom.Options{{}, {ByName: func(lock string) string { return lock[:1] }, MaxNames: 3}} {
		m := redlatchprom.New(o)
		for _, name := range []string{"a1", "a2", "b1", "\xff", "d", "e"} {
			m.Observe(t.Context(), redlatch.Event{Kind: redlatch.EventAcquired, LockKind: redlatch.KindMutex, Lock: name})
		}
		all := exposition(t, m)
		for series, named := range map[string]bool{
			`redlatch_wait_duration_seconds_count{kind="mutex",outcome="acquired"} 6`:                false,
			`redlatch_wait_duration_seconds_count{kind="mutex",lock="a",outcome="acquired"} 2`:       true,
			`redlatch_wait_duration_seconds_count{kind="mutex",lock="�",outcome="acquired"} 1`:       true,
			`redlatch_wait_duration_seconds_count{kind="mutex",lock="(other)",outcome="acquired"} 2`: true,
			`redlatch_losses_total{kind="mutex",lock="a",reason="gone"} 0`:                           true,
		} {
			if strings.Contains(all, "\n"+series+"\n") != (named == (o.ByName != nil)) {
				t.Errorf("by name %v: %s\n%s", o.ByName != nil, series, all)
			}
		}
	}
}

// Goal: the names and the help follow the conventions of Prometheus, and a strict registry takes all
// of it, whatever happens at the same time.
func TestMetricsFollowTheConventions(t *testing.T) {
	m := redlatchprom.New(redlatchprom.Options{ByName: func(lock string) string { return lock }, MaxNames: 5})
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	var events sync.WaitGroup
	for i := range 8 {
		events.Go(func() {
			for _, kind := range []redlatch.EventKind{"acquired", "not acquired", "released", "detached", "closed", "lost", "renewed", "forced", "of a later version"} {
				m.Observe(t.Context(), redlatch.Event{Kind: kind, LockKind: redlatch.KindMutex, Lock: fmt.Sprint("lock ", i)})
				if _, err := registry.Gather(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	events.Wait()
	problems, err := testutil.GatherAndLint(registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", problems, err)
	}
}

// Goal: a reader that stops reading holds up no lock. Method: it takes one metric and no more. Then an event needs a new
// one.
func TestAReaderThatStopsHoldsUpNobody(t *testing.T) {
	m := redlatchprom.New(redlatchprom.Options{})
	read := make(chan prometheus.Metric)
	go func() {
		defer close(read)
		m.Collect(read)
	}()
	<-read
	told := make(chan struct{})
	go func() {
		defer close(told)
		m.Observe(t.Context(), redlatch.Event{Kind: redlatch.EventLost, LockKind: "new", Loss: redlatch.LossGone})
	}()
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Error("the observer waits for the reader")
	}
	for range read { // the rest
	}
}
