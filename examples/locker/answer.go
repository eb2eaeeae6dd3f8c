package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/redlatch/redlatch"
)

// write answers with one line of JSON.
func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that has disconnected reads no error either
}

// problem is an answer to a request that failed. README.md says what each means.
type problem struct {
	status int
	Error  string `json:"error"`
	*visit        // if a lock was held
}

// clientGone is the status that some servers log for a client that disconnected before the
// answer.
const clientGone = 499

// problems are the answers for errors. The first that matches applies. The errors that are
// worst to overlook come first.
var problems = []struct {
	when error
	problem
}{
	{redlatch.ErrLost, problem{status: http.StatusConflict, Error: "lost"}},
	{redlatch.ErrUnknownOutcome, problem{status: http.StatusServiceUnavailable, Error: "unknown"}},
	{redlatch.ErrInvalidName, problem{status: http.StatusBadRequest, Error: "invalid_name"}},
	{redlatch.ErrWrongType, problem{status: http.StatusConflict, Error: "not_a_lock"}},
	{errStopping, stopping},
	{redlatch.ErrClosed, stopping},
	{context.Canceled, problem{status: clientGone, Error: "client_gone"}},
	{redlatch.ErrNotAcquired, problem{status: http.StatusLocked, Error: "not_acquired"}},
}

var stopping = problem{status: http.StatusServiceUnavailable, Error: "stopping"}

// unavailable is the answer for every other error: Redis refused, or cannot be reached.
var unavailable = problem{status: http.StatusServiceUnavailable, Error: "redis_unavailable"}

// fail answers a request that failed. It logs the error, which may contain addresses and
// other owners, and does not send it to the client.
func (s *service) fail(w http.ResponseWriter, r *http.Request, err error, v *visit) {
	// The error of an interrupted call does not always contain the cause.
	err, p := errors.Join(err, context.Cause(r.Context())), unavailable
	for _, one := range slices.Backward(problems) {
		if errors.Is(err, one.when) {
			p = one.problem
		}
	}
	p.visit = v
	s.log.Info("request failed", "method", r.Method, "path", r.URL.Path, "status", p.status, "error", err)
	write(w, p.status, p)
}
