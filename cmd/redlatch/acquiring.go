package main

import (
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
	config   redlatch.Config
}

// register adds the flags. Quietly is what --quiet does not print.
func (a *acquiring) register(cmd *cobra.Command, quietly string) {
	flags := cmd.Flags()
	a.server.register(cmd)
	a.kind.register(cmd)
	flags.StringVar(&a.config.Name, "name", "", "`NAME` of this job in status, ls and the console (default: the program, the host and the process)")
	flags.BoolVarP(&a.nonblock, "nonblock", "n", false, "do not wait for the lock")
	durationVar(flags, &a.wait, "wait", "w", 0, "wait at most this long, for the server and then for the lock (default: no limit for the lock, no wait for the server)")
	durationVar(flags, &a.config.LeaseTime, "lease-time", "", 30*time.Second, "time to live of the lock in Redis; redlatch renews it every third of this time")
	flags.BoolVar(&a.config.Protect, "protect", false, "let a redlatch watchdog keep the lock while redlatch is paused")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print nothing about "+quietly)
}

// patience is for how long they wait, from now on.
func (a *acquiring) patience(set func(flag string) bool) patience {
	return patience{limited: a.nonblock || set("wait"), limit: a.wait, began: time.Now(), quiet: a.quiet}
}
