// Command locker is an HTTP service that works under distributed locks. It shows how an
// application injects a locker, and what happens to a lock in two experiments.
// README.md in its folder says what to try.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redlatch/redlatch"
	_ "github.com/redlatch/redlatch/driver/memory" // for memory://
)

// settings are the flags of the command line.
type settings struct {
	listen, redis string
	work          time.Duration // under the lock
	wait          time.Duration // for the lock, at most
	lease         time.Duration // of a hold that is not renewed
	watchdog      time.Duration // the lease of a hold that is renewed
}

func main() {
	var s settings
	flag.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`address` to serve HTTP on")
	flag.StringVar(&s.redis, "redis", "memory://", "`URL` of the server: redis://host:6379, rediss://, or memory:// for one inside this process")
	flag.DurationVar(&s.work, "work", 70*time.Second, "how long a request works under its lock")
	flag.DurationVar(&s.wait, "wait", 100*time.Second, "how long try-lock waits at most")
	flag.DurationVar(&s.lease, "lease", 10*time.Second, "lease of try-lock, not renewed")
	flag.DurationVar(&s.watchdog, "watchdog", 30*time.Second, "lease of lock, renewed every third of it")
	flag.Parse()

	// The second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "locker:", err)
		os.Exit(1)
	}
}

// stopWithin bounds each step of stopping.
const stopWithin = 10 * time.Second

// run builds the service, prints where it listens, and serves until ctx ends. All locks are
// released when it returns.
func run(ctx context.Context, s settings) (err error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	client, err := redlatch.Open(ctx, s.redis, redlatch.Config{LeaseTime: s.watchdog, Logger: log})
	if err != nil {
		return err
	}
	defer func() {
		limited, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		err = errors.Join(err, client.Close(limited))
	}()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	fmt.Printf("locker: listening on http://%s\n", listener.Addr())
	svc := &service{latchLocker{client}, s, log}
	return serve(ctx, listener, svc.routes())
}

// errStopping is the cause if the service ended a request's context.
var errStopping = errors.New("the service is stopping")

// serve answers requests until ctx ends. Then it interrupts every request, which releases
// its lock and answers. It returns when all of them have, or when stopWithin has passed.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	requests, interrupt := context.WithCancelCause(context.Background())
	defer interrupt(nil)
	server := &http.Server{
		Handler:     handler,
		BaseContext: func(net.Listener) context.Context { return requests },
		// Clients open connections in advance. Shutdown also waits for those that were never used.
		ReadHeaderTimeout: 2 * time.Second,
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
