package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/inspect"
)

// inspecting is what the verbs have in common that look at locks by package inspect.
type inspecting struct {
	server server
	config inspect.Config
	every  time.Duration
	count  int
	asJSON bool

	driver  driver.Driver // while the verb runs
	failure error         // the last one
	told    []string      // the messages on stderr
}

// maxRate is the greatest rate that package inspect takes.
const maxRate = 1_000_000

// register adds the flags of all these verbs.
func (f *inspecting) register(cmd *cobra.Command) {
	f.server.register(cmd)
	intVar(cmd.Flags(), &f.config.Rate, "rate", "", 1000, "send at most this many commands a second; a SCAN of 1,000 keys counts as 10")
	jsonVar(cmd, &f.asJSON)
}

// registerLive adds the flags of those that go on.
func (f *inspecting) registerLive(cmd *cobra.Command, what string, every time.Duration) {
	durationVar(cmd.Flags(), &f.every, "every", "", every, "look this often")
	intVar(cmd.Flags(), &f.count, "count", "", 0, "end after this many "+what+" (default: no end)")
}

// run connects, and gives an inspector to a verb. At the end it says what could not be read.
func (f *inspecting) run(cmd *cobra.Command, look func(ctx context.Context, i *inspect.Inspector) error) error {
	switch {
	case f.config.Rate < 1 || f.config.Rate > maxRate:
		return exit(exitUsage, "--rate %d: from 1 to %d", f.config.Rate, maxRate)
	case f.count < 0:
		return exit(exitUsage, "--count %d: it is negative", f.count)
	case cmd.Flags().Lookup("every") != nil && f.every < 20*time.Millisecond:
		return exit(exitUsage, "--every %v: at least 20ms", f.every)
	}
	if err := checkStdout(); err != nil {
		return err
	}
	return f.server.with(cmd.Context(), func(client *redlatch.Client) error {
		f.driver = client.Driver()
		i, err := inspect.New(f.driver, f.config)
		if err != nil {
			return failed(err)
		}
		err = cmp.Or(look(cmd.Context(), i), f.failure)
		f.tellNotices(i)
		return err
	})
}

// live is run for a verb that goes on until SIGINT or SIGTERM.
func (f *inspecting) live(cmd *cobra.Command, look func(ctx context.Context, i *inspect.Inspector) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cmd.SetContext(ctx)
	return f.run(cmd, look)
}

func (f *inspecting) tellNotices(i *inspect.Inspector) {
	for _, notice := range i.Notices() {
		f.tellOnce(errors.New(notice))
	}
}

// fail takes an error that does not end the verb. The last one becomes its exit code, and those before
// it are told.
func (f *inspecting) fail(err error) {
	if f.failure != nil && f.failure.Error() != err.Error() {
		f.tellOnce(f.failure)
	}
	f.failure = failed(err)
}

// tellOnce tells a message that was not told yet.
func (f *inspecting) tellOnce(err error) {
	if !slices.Contains(f.told, err.Error()) {
		f.told = append(f.told, err.Error())
		tell(err)
	}
}

// processes says how many there are.
func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

// onePattern checks that a verb got one pattern at most.
func onePattern(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit(exitUsage, "one PATTERN at most, in quotes so that the shell leaves it alone: redlatch %s", cmd.Use)
	}
	if len(args) == 1 && args[0] == "" {
		return exit(exitUsage, "the PATTERN is empty")
	}
	return nil
}

// patternOf is the pattern of a command line, or all.
func patternOf(args []string) string {
	if len(args) == 0 {
		return "*"
	}
	return args[0]
}
