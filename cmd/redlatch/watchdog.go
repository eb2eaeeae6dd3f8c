package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/connect"
	"github.com/redlatch/redlatch/internal/life"
	"github.com/redlatch/redlatch/internal/pause"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/watchdog"
)

func newWatchdog() *cobra.Command {
	d := watchdogService{server: server{told: true}} // the log names it
	cmd := &cobra.Command{
		Use:   "watchdog",
		Short: "Renew the locks of processes that are paused",
		Long: `Run three watchdogs on three machines. watchdog renews the locks of paused
clients that have Config.Protect, or run --protect. A paused client is stopped,
frozen or without CPU time, but not dead. One watchdog is enough to keep the
locks. It runs until SIGTERM or SIGINT.

On the address of --listen it serves /healthz, /readyz (whether Redis answers)
and /metrics (for Prometheus). While Redis cannot be reached, it waits, and says
so in its log.

Exit code:
  0   SIGTERM or SIGINT ended it
  2   the command line is wrong
  70  the address of --listen cannot be used`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := d.check(); err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			// A log that nobody reads any more must not end it.
			signal.Ignore(syscall.SIGPIPE)
			var reporter life.Reporter // a watchdog that waited for its log would renew nothing
			defer reporter.Wait(time.Second)
			d.config.Logger = reporter.Logger(slog.New(d.handler(paced{os.Stderr, time.Tick(lineTime)})))
			return d.run(ctx)
		},
	}
	d.server.register(cmd)
	flags := cmd.Flags()
	durationVar(flags, &d.config.MaxPause, "max-pause", "", 2*time.Minute, "stop renewing for a client that has been paused for longer")
	flags.StringVar(&d.listen, "listen", "127.0.0.1:7801", "`ADDRESS` for /healthz, /readyz and /metrics, empty for nowhere")
	flags.StringVar(&d.format, "log", "text", "`FORMAT` of the log on stderr: text or json")
	return cmd
}

// watchdogService is one run of the verb.
type watchdogService struct {
	server server
	config watchdog.Config
	listen string
	format string
}

// check gives the settings that are not the library's to check.
func (d *watchdogService) check() error {
	switch {
	case d.config.MaxPause < time.Second:
		return exit(exitUsage, "--max-pause %v: at least 1s", d.config.MaxPause)
	case d.format != "json" && d.format != "text":
		return exit(exitUsage, "--log %s: it is text or json", d.format)
	}
	return nil
}

// handler writes the log in the format that was asked for.
func (d *watchdogService) handler(out io.Writer) slog.Handler {
	if d.format == "json" {
		return slog.NewJSONHandler(out, nil)
	}
	return slog.NewTextHandler(out, nil)
}

// lineTime is the time between two lines of the log. Clients choose their names, and must not be able to fill a disk.
const lineTime = 10 * time.Millisecond

// paced is a log that takes one line with each tick.
type paced struct {
	out  io.Writer
	tick <-chan time.Time
}

func (p paced) Write(line []byte) (int, error) {
	<-p.tick
	return p.out.Write(line)
}

// run serves until ctx ends.
func (d *watchdogService) run(ctx context.Context) error {
	h := &health{began: time.Now()}
	end, err := h.serve(d.listen, d.config.Logger)
	if err != nil {
		return exit(exitFailure, "--listen %s: %v", d.listen, err)
	}
	defer end()
	client, err := d.connect(ctx)
	if client == nil {
		return err
	}
	defer closeClient(client)
	w, err := watchdog.New(client.Driver(), d.config)
	if err != nil {
		return failed(err)
	}
	h.dog.Store(w)
	url, _ := d.server.url()
	target, _ := connect.Parse(url)
	d.config.Logger.Info("watchdog runs", "redis", target.String(), "maxPause", d.config.MaxPause.String(), "pid", os.Getpid())
	err = w.Run(ctx)
	d.config.Logger.Info("watchdog ends")
	return err
}

// The pauses between two attempts to connect double from the first to the last.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// connect tries until it succeeds, for a server may come up after its watchdog. It returns
// nil without an error when ctx has ended.
func (d *watchdogService) connect(ctx context.Context) (*redlatch.Client, error) {
	for backoff := (pause.Backoff{First: firstRetry, Max: lastRetry}); ; {
		client, err := d.server.connect(ctx, redlatch.Config{})
		var exit *exitError
		switch {
		case err == nil:
			return client, nil
		case ctx.Err() != nil:
			return nil, nil
		case errors.As(err, &exit) && exit.code == exitUsage:
			return nil, err
		}
		next := backoff.Next()
		d.config.Logger.Warn("no connection to Redis yet", "reason", protocol.Line(err.Error()), "next", next.String())
		_ = pause.For(ctx, next)
	}
}
