package fence

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"time"
)

// HTTPConfig has the settings of a Handler. The zero value of each field means its default.
type HTTPConfig struct {
	// Store remembers the last tokens. Its value must be comparable, as pointers are.
	// Handlers with equal stores guard together. Default: one Memory, which all Handlers of
	// the process without another store share.
	Store Store
	// Resource names what a request writes. Default: PathResource.
	Resource func(*http.Request) string
	// MaxToken is the highest token that can be genuine. A higher one is refused and not
	// remembered, because no genuine token could pass after it. Locks issue lower tokens
	// (redlatch.Config.TokenClock). Default: this machine's time in microseconds since 1970
	// plus one day.
	MaxToken int64
	// Logger reports a store that fails. Default: slog.Default().
	Logger *slog.Logger
}

// Handler guards a handler, next. Next runs for a request only if the token in the header
// Redlatch-Token is not older than the last one that passed for the same resource. It finds the
// token in its context, by TokenFrom. Mount a Handler on the routes that write:
//
//	mux.Handle("PUT /stock/{id}", fence.Handler(putStock, fence.HTTPConfig{}))
//
// If next does not run, the answer is one of
//
//	409 Conflict              the token is stale; the header has the newest that passed
//	428 Precondition Required there is no token
//	400 Bad Request           the header is not one number, or beyond HTTPConfig.MaxToken
//	503 Service Unavailable   the store failed, or the request's context ended before it was admitted
//
// A token is a number, and does not prove who sends it. Authenticate and authorise clients before
// a Handler. A client that may send a token can block those of all others, and fill the store
// with resources.
//
// Among the Handlers of one store in one process, check and effect are atomic. While a request
// runs, requests with other tokens for its resource wait. So a newer request never overtakes an
// older one that has passed. They wait until it returns or their own context ends, so bound the
// time of next. With HTTP/1, a client that disconnects ends the context of its request only after
// the body has been read. Work that goes on after next has returned is not guarded. So put
// http.TimeoutHandler around a Handler and not inside.
//
// Handler panics if next is an http.TimeoutHandler, or if the store cannot be compared.
//
// Requests in two processes that share a store do not wait for each other. There a newer request
// can overtake one that has passed, before that one writes. Guard the data itself, too: pass
// TokenFrom to Row.Update, Ledger.PassIn or Redis.Do.
func Handler(next http.Handler, cfg HTTPConfig) http.Handler {
	cfg.Store = cmp.Or[Store](cfg.Store, &processMemory)
	if cfg.Resource == nil {
		cfg.Resource = PathResource
	}
	switch {
	case reflect.TypeOf(next) == reflect.TypeOf(http.TimeoutHandler(nil, 0, "")):
		panic("fence: http.TimeoutHandler returns before its handler does: put it around the Handler")
	case !reflect.ValueOf(cfg.Store).Comparable():
		panic("fence: the store of a Handler must be comparable: use a pointer to it")
	}
	return &handler{next: next, cfg: cfg}
}

type handler struct {
	next http.Handler
	cfg  HTTPConfig
}

var (
	processMemory    Memory
	processSequencer = sequencer{states: make(map[resource]*state)}
)

// ServeHTTP runs the guarded handler, or refuses.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, err := tokenOf(r.Header)
	if errors.Is(err, ErrNoToken) {
		http.Error(w, err.Error(), http.StatusPreconditionRequired)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if highest := cmp.Or(h.cfg.MaxToken, time.Now().Add(24*time.Hour).UnixMicro()); token > highest {
		http.Error(w, fmt.Sprintf("the token %d is higher than any genuine one", token), http.StatusBadRequest)
		return
	}
	at := resource{h.cfg.Store, h.cfg.Resource(r)}
	admitted := admittedKey{at, token}
	if r.Context().Value(admitted) != nil {
		h.next.ServeHTTP(w, r) // it runs inside another Handler, which admitted it
		return
	}
	if err := h.serve(w, r, admitted); err != nil {
		h.refuse(w, r, err)
	}
}

// serve has the sequencer admit a request, and runs the guarded handler unless the store refuses. The error is why the
// handler was not run. Nobody waits any more for a request that was not: who logs or answers the error may take long.
func (h *handler) serve(w http.ResponseWriter, r *http.Request, as admittedKey) error {
	if err := processSequencer.enter(r.Context(), as.token, as.at); err != nil {
		return err
	}
	defer processSequencer.leave(as.at)
	ctx := WithToken(r.Context(), as.token)
	if err := as.at.store.Pass(ctx, as.token, as.at.name); err != nil {
		return err
	}
	processSequencer.pass(as.at)
	h.next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, as, true)))
	return nil
}

// admittedKey is the context key that says that the sequencer has admitted a request.
type admittedKey struct {
	at    resource
	token int64
}

// refuse answers a request that did not pass. It logs the error of a store, and does not send it
// to the client.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if stale, ok := errors.AsType[*StaleError](err); ok {
		w.Header().Set(Header, strconv.FormatInt(stale.Last, 10))
		http.Error(w, stale.Error(), http.StatusConflict)
		return
	}
	if r.Context().Err() == nil {
		cmp.Or(h.cfg.Logger, slog.Default()).ErrorContext(r.Context(), "fence: the store failed", "error", err)
	}
	http.Error(w, "the token could not be checked", http.StatusServiceUnavailable)
}
