// Command locker is an HTTP service that works under distributed locks. It shows how an
// application injects a locker, and what happens to a lock in several experiments.
// README.md in its folder says what to try.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/redlatch/redlatch"
)

func main() { os.Exit(command(os.Args[1:])) }

// command runs the service until a signal ends it, and returns the exit code: 0, 1 if
// it failed, 2 for a wrong command line.
func command(args []string) int {
	// The second signal ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	s, err := readSettings(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "locker:", err)
		return 2
	}
	if err := run(ctx, s, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "locker:", err)
		return 1
	}
	return 0
}

// run builds the service, prints on stdout where it listens, and serves until ctx ends.
// All locks are released when it returns.
func run(ctx context.Context, s settings, stdout, stderr io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(stderr, nil))
	connection, err := connect(ctx, s.redis)
	if err != nil {
		return err
	}
	defer connection.Close()
	client, err := redlatch.New(connection, redlatch.Config{LeaseTime: s.watchdog, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeClient(client)) }()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "locker: listening on http://%s, locks in %s\n", listener.Addr(), withoutSecrets(s.redis))

	svc := &service{
		locker:    latchLocker{client},
		inspector: latchLocker{client},
		stock:     &stock{redis: connection, delay: s.delay},
		times:     s.times,
		log:       log,
	}
	return serve(ctx, listener, svc.routes())
}

// closeClient releases every lock that is still held, for example by a request that did
// not end in time.
func closeClient(client *redlatch.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return client.Close(ctx)
}
