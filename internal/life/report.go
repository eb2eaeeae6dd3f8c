package life

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redlatch/redlatch/internal/pause"
)

// Reporter calls the logger and the observer for goroutines that must not wait for them: a
// slow handler delays reports, and neither renewals nor whoever learns of a loss.
type Reporter struct {
	mu      sync.Mutex
	reports []func()
	ended   chan struct{} // of the goroutine that reports; nil while there is none
}

// Add has fn called soon, in the order of the reports.
func (r *Reporter) Add(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, fn)
	if r.ended == nil {
		r.ended = make(chan struct{})
		go r.run()
	}
}

// TryAdd is Add for what may be left out. It is left out if many reports wait, because a handler
// hangs.
func (r *Reporter) TryAdd(fn func()) {
	r.mu.Lock()
	full := len(r.reports) >= maxReports
	r.mu.Unlock()
	if !full {
		r.Add(fn)
	}
}

// maxReports is how many reports may wait before some are left out.
const maxReports = 1000

// run goes on until nothing is left to report. If a handler panics or ends its goroutine, only its own report is lost.
func (r *Reporter) run() {
	done := false
	defer func() {
		if !done {
			_ = recover()
			go r.run()
		}
	}()
	for {
		r.mu.Lock()
		if len(r.reports) == 0 {
			close(r.ended)
			r.ended = nil
			r.mu.Unlock()
			done = true
			return
		}
		report := r.reports[0]
		r.reports = r.reports[1:]
		r.mu.Unlock()
		report()
	}
}

// Wait waits for the last report, but no longer than d: a handler may hang, or wait for whoever
// waits here.
func (r *Reporter) Wait(d time.Duration) {
	r.mu.Lock()
	ended := r.ended
	r.mu.Unlock()
	if ended != nil {
		pause.Within(d, ended)
	}
}

// Logger wraps a logger of a user. Only reports call its handler, so nobody who logs waits for it.
func (r *Reporter) Logger(l *slog.Logger) *slog.Logger { return slog.New(handler{l.Handler, r}) }

type handler struct {
	of       func() slog.Handler // the user's, called by reports
	reporter *Reporter
}

func (h handler) Enabled(context.Context, slog.Level) bool { return true }

func (h handler) Handle(ctx context.Context, record slog.Record) error {
	ctx = context.WithoutCancel(ctx)
	h.reporter.TryAdd(func() {
		if of := h.of(); of.Enabled(ctx, record.Level) {
			_ = of.Handle(ctx, record)
		}
	})
	return nil
}

func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{func() slog.Handler { return h.of().WithAttrs(attrs) }, h.reporter}
}

func (h handler) WithGroup(name string) slog.Handler {
	return handler{func() slog.Handler { return h.of().WithGroup(name) }, h.reporter}
}
