package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/watchdog"
)

// health is the watchdog's HTTP server. It serves from the start, before there is a
// connection to Redis; until then the watchdog is alive and not ready.
type health struct {
	server *http.Server // nil without an address
	ended  chan struct{}
	dog    atomic.Pointer[watchdog.Watchdog]
}

// serveHealth serves on an address, or nowhere if it is empty.
func serveHealth(address string, log *slog.Logger) (*health, error) {
	h := &health{ended: make(chan struct{})}
	if address == "" {
		close(h.ended)
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	log.Info("health and metrics", "address", listener.Addr().String())
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute}
	go func() {
		defer close(h.ended)
		if err := h.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics ended", "reason", err.Error())
		}
	}()
	return h, nil
}

// show is called when there is a watchdog.
func (h *health) show(w *watchdog.Watchdog) { h.dog.Store(w) }

// ServeHTTP is the watchdog's own handler, once there is one.
func (h *health) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	if w := h.dog.Load(); w != nil {
		w.Handler().ServeHTTP(out, in)
		return
	}
	if in.URL.Path == "/healthz" {
		out.WriteHeader(http.StatusOK)
		return
	}
	http.Error(out, "no connection to Redis yet", http.StatusServiceUnavailable)
}

// close ends it, whoever is still connected.
func (h *health) close() {
	if h.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.server.Shutdown(ctx) != nil {
		_ = h.server.Close()
	}
	<-h.ended
}
