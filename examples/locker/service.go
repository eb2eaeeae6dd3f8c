package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"
)

// service is the application.
type service struct {
	locker Locker
	times  settings
	log    *slog.Logger
}

// routes are the endpoints. Those that lock accept every method, so that a plain curl
// is enough.
func (s *service) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/lock/redlatch/lock/{name}", s.lock)
	mux.HandleFunc("/v1/lock/redlatch/try-lock/{name}", s.tryLock)
	mux.HandleFunc("GET /v1/lock/redlatch/status/{name}", s.showStatus)
	return mux
}

// visit is the answer about one request's time under a lock.
type visit struct {
	Lock   string `json:"lock"`
	Owner  string `json:"owner"`
	Waited int64  `json:"waited_ms"`
	Worked int64  `json:"worked_ms"`
}

// lock works under a lock that redlatch renews until it is released.
func (s *service) lock(w http.ResponseWriter, r *http.Request) {
	asked := time.Now()
	h, err := s.locker.Lock(r.Context(), r.PathValue("name"))
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	// The hold's context is the request's, and ends earlier if the lock is lost.
	s.visit(h.Context(), w, r, h, asked)
}

// tryLock works under a lock that ends with its lease, even in the middle of the work.
func (s *service) tryLock(w http.ResponseWriter, r *http.Request) {
	asked := time.Now()
	h, err := s.locker.TryLockFor(r.Context(), r.PathValue("name"), s.times.wait, s.times.lease)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	// Do not copy this: for the experiment, the work uses the request's context instead
	// of the hold's, and continues after the lock was lost. Only the release reports it.
	s.visit(r.Context(), w, r, h, asked)
}

// visit works until it is done or ctx ends, releases, and answers.
func (s *service) visit(ctx context.Context, w http.ResponseWriter, r *http.Request, h Held, asked time.Time) {
	began := time.Now()
	v := visit{Lock: r.PathValue("name"), Owner: h.Owner(), Waited: began.Sub(asked).Milliseconds()}
	err := under(r.Context(), h, func() error { return work(ctx, s.times.work) })
	v.Worked = time.Since(began).Milliseconds()
	if err != nil {
		s.fail(w, r, err, &v)
		return
	}
	write(w, http.StatusOK, struct {
		Result string `json:"result"`
		visit
	}{"released", v})
}

// showStatus shows the state of a lock in Redis at the moment of the request.
func (s *service) showStatus(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	status, err := s.locker.Status(r.Context(), name)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	holders := map[string]int{}
	for _, h := range status.Holders {
		holders[h.Owner] = h.Count
	}
	write(w, http.StatusOK, struct {
		Lock    string         `json:"lock"`
		Locked  bool           `json:"locked"`
		TTL     int64          `json:"ttl_ms"` // 0 while free
		Holders map[string]int `json:"holders"`
	}{name, status.Locked, status.TTL.Milliseconds(), holders})
}

// under calls do under a lock and releases the lock, also after a panic. The error joins
// both errors: work under a lock that turns out to be lost did not succeed.
func under(ctx context.Context, h Held, do func() error) (err error) {
	defer func() { err = errors.Join(err, h.Unlock(ctx)) }()
	return do()
}

// work stands for work that takes time and can be interrupted.
func work(ctx context.Context, d time.Duration) error {
	done := time.NewTimer(d)
	defer done.Stop()
	select {
	case <-done.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
