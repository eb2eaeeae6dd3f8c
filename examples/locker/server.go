package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// errStopping is the cause if the service ended a request's context.
var errStopping = errors.New("the service is stopping")

// stopWithin bounds each step of stopping.
const stopWithin = 10 * time.Second

// askWithin is how long a connection may take to send a request. Clients open connections
// in advance, and Shutdown also waits for those that were never used.
const askWithin = 2 * time.Second

// serve answers requests until ctx ends. Then it interrupts every request, which releases
// its lock and answers. It returns when all of them have, or when stopWithin has passed.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	requests, interrupt := context.WithCancelCause(context.Background())
	defer interrupt(nil)
	server := &http.Server{
		Handler:           handler,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ReadHeaderTimeout: askWithin,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}

	interrupt(errStopping)
	limited, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := server.Shutdown(limited)
	<-ended
	if err != nil {
		return fmt.Errorf("stop: requests did not end: %w", errors.Join(err, server.Close()))
	}
	return nil
}
