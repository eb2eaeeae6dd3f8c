package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch"
)

// acquiring are the flags of the verbs that acquire something.
type acquiring struct {
	server   server
	kind     kind
	nonblock bool
	wait     time.Duration
	quiet    bool
	note     string
	config   redlatch.Config
	client   *redlatch.Client // once it is connected
}

// register adds the flags. Quietly is what --quiet does not print.
func (a *acquiring) register(cmd *cobra.Command, quietly string) {
	flags := cmd.Flags()
	a.server.register(cmd)
	a.kind.register(cmd)
	flags.StringVar(&a.config.Name, "name", "", "`NAME` of this job in status, ls and the console (default: the program, the host and the process)")
	flags.StringVar(&a.note, "note", "", "`TEXT` that says what the lock is held for, in status, ls and the console")
	flags.BoolVarP(&a.nonblock, "nonblock", "n", false, "do not wait for the lock")
	durationVar(flags, &a.wait, "wait", "w", 0, "wait at most this long, for the server and then for the lock (default: no limit for the lock, no wait for the server)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print nothing about "+quietly)
}

// registerRenewal adds the flags of the verbs that renew it.
func (a *acquiring) registerRenewal(cmd *cobra.Command) {
	durationVar(cmd.Flags(), &a.config.LeaseTime, "lease-time", "", 30*time.Second, "time to live of the lock in Redis; redlatch renews it every third of this time")
	cmd.Flags().BoolVar(&a.config.Protect, "protect", false, "let a redlatch watchdog keep the lock while redlatch is paused")
}

// patience is for how long they wait, from now on.
func (a *acquiring) patience(set func(flag string) bool) patience {
	return patience{limited: a.nonblock || set("wait"), limit: a.wait, began: time.Now(), quiet: a.quiet}
}

// held takes the lock of a verb that has no command to run, and has a function do the rest.
func (a *acquiring) held(cmd *cobra.Command, name string, options []redlatch.LockOption, then func(hold *redlatch.Hold, signals <-chan os.Signal) error) error {
	if err := a.kind.check(cmd.Flags().Changed); err != nil {
		return err
	}
	if a.wait < 0 {
		return exit(exitUsage, "--wait %v: it is negative", a.wait)
	}
	if err := checkStdout(); err != nil {
		return err
	}
	signals, stop := listen()
	defer stop()
	waiting, stopListening := untilSignal(cmd.Context(), signals)
	p := a.patience(cmd.Flags().Changed)
	hold, err := a.acquire(waiting, &p, name, options)
	if a.client != nil {
		defer closeClient(a.client) // which releases a lock that came together with a signal
	}
	if interrupted := stopListening(); interrupted != nil {
		return interrupted
	}
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired) && a.quiet:
		return &exitError{code: exitHeld}
	case errors.Is(err, redlatch.ErrNotAcquired):
		return &exitError{exitHeld, err}
	case err != nil:
		return failed(err)
	}
	return then(hold, signals)
}

// acquire connects and takes the lock.
func (a *acquiring) acquire(ctx context.Context, p *patience, name string, options []redlatch.LockOption) (hold *redlatch.Hold, err error) {
	if a.client, err = p.connect(ctx, &a.server, a.config); err != nil {
		return nil, err
	}
	if a.note != "" {
		options = append(options, redlatch.WithNote(a.note))
	}
	return p.take(ctx, a.client, &a.kind, a.kind.lock(a.client, name), options)
}
