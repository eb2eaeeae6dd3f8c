package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/redlatch/redlatch"
)

// write answers with one line of JSON.
func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // a client that has disconnected reads no error either
}

// problem is an answer to a request that failed.
type problem struct {
	status  int
	Error   string `json:"error"`
	Message string `json:"message"`
	*visit         // if a lock was held
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
	{redlatch.ErrLost, problem{status: http.StatusConflict, Error: "lost",
		Message: "The lock ended before it was released. Somebody else may have held it meanwhile."}},
	{redlatch.ErrUnknownOutcome, problem{status: http.StatusServiceUnavailable, Error: "unknown",
		Message: "Redis did not say whether it did what it was asked. The lock frees within its lease."}},
	{redlatch.ErrInvalidName, problem{status: http.StatusBadRequest, Error: "invalid_name",
		Message: "This cannot be the name of a lock."}},
	{redlatch.ErrWrongType, problem{status: http.StatusConflict, Error: "not_a_lock",
		Message: "The key of this name is not a lock. It was not touched."}},
	{errUnits, problem{status: http.StatusBadRequest, Error: "units",
		Message: "Say how many, as in ?units=100."}},
	{errNoStock, problem{status: http.StatusNotFound, Error: "no_stock",
		Message: "There is no such item. PUT it into stock first."}},
	{errSoldOut, problem{status: http.StatusConflict, Error: "sold_out",
		Message: "The last unit has been sold."}},
	{errStopping, stopping},
	{redlatch.ErrClosed, stopping},
	{context.Canceled, problem{status: clientGone, Error: "client_gone",
		Message: "The client left before the answer."}},
	{redlatch.ErrNotAcquired, problem{status: http.StatusLocked, Error: "not_acquired",
		Message: "Somebody else has the lock, and the time to wait for it is over."}},
}

var stopping = problem{status: http.StatusServiceUnavailable, Error: "stopping",
	Message: "The service is stopping. Nothing is locked for this request any more."}

// unavailable is the answer for every other error: Redis refused, or cannot be reached.
var unavailable = problem{status: http.StatusServiceUnavailable, Error: "redis_unavailable",
	Message: "Redis cannot do this at the moment."}

func problemOf(err error) problem {
	for _, p := range problems {
		if errors.Is(err, p.when) {
			return p.problem
		}
	}
	return unavailable
}

// fail answers a request that failed. It logs the error, which may contain addresses and
// other owners, and does not send it to the client.
func (s *service) fail(w http.ResponseWriter, r *http.Request, err error, v *visit) {
	// The error of an interrupted call does not always contain the cause.
	p := problemOf(errors.Join(err, context.Cause(r.Context())))
	p.visit = v
	s.log.Info("request failed", "method", r.Method, "path", r.URL.Path, "status", p.status, "error", err)
	write(w, p.status, p)
}
