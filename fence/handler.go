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

// HTTPConfig says how a Handler guards. Its zero value is the documented default.
type HTTPConfig struct {
	// Store remembers the last tokens. Nil means one Memory, which all Handlers of the
	// process share that have no other. Its value must be comparable, as pointers are:
	// Handlers with equal stores guard together.
	Store Store
	// Resource names what a request writes. Nil means PathResource.
	Resource func(*http.Request) string
	// MaxToken is the highest token that can be genuine. A higher one is refused and not
	// remembered, because nobody could pass after it. Default: this machine's time in
	// microseconds since 1970, and one day: locks count below that (redlatch.Config.TokenClock).
	MaxToken int64
	// Logger hears of a store that fails. Nil means slog.Default.
	Logger *slog.Logger
}

// Handler guards a handler: it runs for a request only if the token in the header
// Redlatch-Token is not older than the last one that passed for the same resource. The
// guarded handler finds the token in its context, by TokenFrom. Mount it on the routes
// that write:
//
//	mux.Handle("PUT /stock/{id}", fence.Handler(putStock, fence.HTTPConfig{}))
//
// It answers by itself, and nothing was run, with
//
//	409 Conflict              the token is stale; the header has the newest that passed
//	428 Precondition Required there is no token
//	400 Bad Request           the header is not one number, or beyond HTTPConfig.MaxToken
//	503 Service Unavailable   the store failed, or the request's context ended before its turn
//
// A token is a number and proves nothing about who sends it. Authenticate and authorise
// clients before a Handler: whoever may send it a token can refuse those of all others, and
// have it remember resources.
//
// Within the Handlers of one store, in one process, check and effect are one. While a
// request runs, those with other tokens for its resource wait, so a newer one never
// overtakes an older one that has passed. They wait until it returns or their own context
// ends, so bound what you guard. With HTTP/1 a client that leaves does not end the context
// of its request before the body has been read. What next leaves at work when it returns
// is not guarded: put http.TimeoutHandler around a Handler and not inside.
//
// Handler panics if next is an http.TimeoutHandler, or if the store cannot be compared.
//
// Two processes that share a store are not kept apart like this. There a request that
// has passed can still be overtaken on its way to what it writes, which must then be
// guarded itself: hand TokenFrom on to Row.Update, Ledger.PassIn or Redis.Do.
func Handler(next http.Handler, cfg HTTPConfig) http.Handler {
	if cfg.Store == nil {
		cfg.Store = &processMemory
	}
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
	processMemory Memory
	processTurns  turns
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
	turn := turnKey{at, token}
	if r.Context().Value(turn) != nil {
		h.next.ServeHTTP(w, r) // it runs inside another Handler, in the turn of that one
		return
	}
	if err := processTurns.enter(r.Context(), token, at); err != nil {
		h.refuse(w, r, err)
		return
	}
	defer processTurns.leave(at)
	ctx := WithToken(r.Context(), token)
	if err := pass(ctx, token, at); err != nil {
		h.refuse(w, r, err)
		return
	}
	h.next.ServeHTTP(w, r.WithContext(context.WithValue(ctx, turn, true)))
}

// turnKey is the key, in the context of a request, of a turn that it has.
type turnKey struct {
	at    resource
	token int64
}

func pass(ctx context.Context, token int64, at resource) error {
	err := at.store.Pass(ctx, token, at.name)
	if err == nil {
		processTurns.pass(at)
	}
	return err
}

// refuse answers a request that did not pass. What is wrong with a store is told to the
// log and not to the client.
func (h *handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var stale *StaleError
	if errors.As(err, &stale) {
		w.Header().Set(Header, strconv.FormatInt(stale.Last, 10))
		http.Error(w, stale.Error(), http.StatusConflict)
		return
	}
	if r.Context().Err() == nil {
		cmp.Or(h.cfg.Logger, slog.Default()).ErrorContext(r.Context(), "fence: the store failed", "error", err)
	}
	http.Error(w, "the token could not be checked", http.StatusServiceUnavailable)
}
