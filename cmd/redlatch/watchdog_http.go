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
	began time.Time
	dog   atomic.Pointer[watchdog.Watchdog] // once there is one
}

// healthConnections is how many connections it has at most: those of probes and of Prometheus.
const healthConnections = 64

// serve serves on an address, or nowhere if it is empty. It returns end, which ends the server and its connections.
func (h *health) serve(address string, log *slog.Logger) (end func(), err error) {
	if address == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	log.Info("health and metrics", "address", listener.Addr().String())
	server, ended := serve.New(watchdog.Handler(h.stats), healthConnections), make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics ended", "reason", err.Error())
		}
	}()
	return func() { serve.Shutdown(server); <-ended }, nil
}

// stats are the watchdog's, once there is one.
func (h *health) stats() watchdog.Stats {
	if w := h.dog.Load(); w != nil {
		return w.Stats()
	}
	return watchdog.Stats{Started: h.began}
}
