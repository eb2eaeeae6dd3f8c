package main

import (
	"context"
	"net/http"
	"time"
)

// visit is the answer about one request's time under a lock.
type visit struct {
	Lock   string `json:"lock"`
	Owner  string `json:"owner"`
	Waited int64  `json:"waited_ms"`
	Worked int64  `json:"worked_ms"`
}

// lock works under a lock that redlatch renews until it is released.
func (s *service) lock(w http.ResponseWriter, r *http.Request) {
	name, asked := r.PathValue("name"), time.Now()
	h, err := s.locker.Lock(r.Context(), name)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	// The hold's context is the request's, and ends earlier if the lock is lost.
	s.visit(h.Context(), w, r, h, visit{Lock: name, Owner: h.Owner(), Waited: since(asked)})
}

// tryLock works under a lock that ends with its lease, even in the middle of the work.
func (s *service) tryLock(w http.ResponseWriter, r *http.Request) {
	name, asked := r.PathValue("name"), time.Now()
	h, err := s.locker.TryLockFor(r.Context(), name, s.times.wait, s.times.lease)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	// Do not copy this: for the experiment, the work uses the request's context instead
	// of the hold's, and continues after the lock was lost. Only the release reports it.
	s.visit(r.Context(), w, r, h, visit{Lock: name, Owner: h.Owner(), Waited: since(asked)})
}

// visit works until it is done or ctx ends, releases, and answers.
func (s *service) visit(ctx context.Context, w http.ResponseWriter, r *http.Request, h Held, v visit) {
	began := time.Now()
	err := under(r.Context(), h, func() error { return work(ctx, s.times.work) })
	v.Worked = since(began)
	if err != nil {
		s.fail(w, r, err, &v)
		return
	}
	write(w, http.StatusOK, struct {
		Result string `json:"result"`
		visit
	}{"released", v})
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

func since(t time.Time) (millis int64) { return time.Since(t).Milliseconds() }
