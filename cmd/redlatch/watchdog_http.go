package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/serve"
	"github.com/redlatch/redlatch/watchdog"
)

// health is the watchdog's HTTP server. It serves from the start, before there is a
// connection to Redis. Until then the watchdog is alive and not ready, and its last look
// grows old.
type health struct {
	server *http.Server // nil without an address
	ended  chan struct{}
	began  time.Time
	dog    atomic.Pointer[watchdog.Watchdog]
}

// healthConnections is how many connections it has at most: those of probes and of Prometheus.
const healthConnections = 64

// serveHealth serves on an address, or nowhere if it is empty.
func serveHealth(address string, log *slog.Logger) (*health, error) {
	h := &health{ended: make(chan struct{}), began: time.Now()}
	if address == "" {
		close(h.ended)
		return h, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	log.Info("health and metrics", "address", listener.Addr().String())
	h.server = serve.New(watchdog.Handler(h.stats), healthConnections)
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

// stats are the watchdog's, once there is one.
func (h *health) stats() watchdog.Stats {
	if w := h.dog.Load(); w != nil {
		return w.Stats()
	}
	return watchdog.Stats{Started: h.began}
}

// close ends the server and its connections.
func (h *health) close() {
	if h.server == nil {
		return
	}
	serve.Shutdown(h.server)
	<-h.ended
}
