package main

import (
	"context"
	"net/http"
	"time"
)

// visit is one request's time under a lock, as the answer tells it.
type visit struct {
	Lock   string `json:"lock"`
	Owner  string `json:"owner"`
	Waited int64  `json:"waited_ms"`
	Worked int64  `json:"worked_ms"`
}

// lock works under a lock that the watchdog renews for as long as it takes.
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

// tryLock works under a lock that ends by itself, if need be in the middle of the
// work.
func (s *service) tryLock(w http.ResponseWriter, r *http.Request) {
	name, asked := r.PathValue("name"), time.Now()
	h, err := s.locker.TryLockFor(r.Context(), name, s.times.wait, s.times.lease)
	if err != nil {
		s.fail(w, r, err, nil)
		return
	}
	// This work does what one must not do, for the sake of the experiment: it goes
	// by the request's context, does not look at its hold and works on without a
	// lock. All that is left to tell it then is the release.
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

// work stands for something that takes its time, and that can be interrupted.
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
