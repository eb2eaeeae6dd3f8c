package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/renew"
	"github.com/redlatch/redlatch/internal/script"
)

// cause says in words why a command was stopped, and whether that was the user's plan: then it
// does not matter who has the lock now.
func (t *task) cause(client *redlatch.Client, hold *redlatch.Hold, end supervise.End) (why string, planned bool) {
	expired := end.Why == supervise.OutOfTime || errors.Is(hold.Err(), renew.ErrExpired)
	outlived := t.config.Protect && end.Paused > t.config.LeaseTime // the watchdog did not keep it for so long
	switch {
	case expired && t.lease > 0:
		return fmt.Sprintf("its lease of %v was over: the command was stopped before; a longer --lease, or none, gives it more time", t.config.LeaseTime), true
	case (expired || outlived) && end.AtLimit:
		return fmt.Sprintf("--max-hold %v was over: the command was stopped before", t.maxHold), true
	case (expired || outlived) && end.Paused > 0:
		return fmt.Sprintf("redlatch stood still for %v and did not renew the hold: the command was stopped", end.Paused.Round(100*time.Millisecond)), false
	case expired:
		return "Redis did not confirm the hold in time: the command was stopped before the lease ended", false
	}
	return "hold lost: " + t.loss(client) + ": the command was stopped", false
}

// loss says what is known of how Redis came to have no such hold any more.
func (t *task) loss(client *redlatch.Client) string {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	return lossOf(client.Driver().Do(ctx, driver.Command{Words: []string{"INFO"}, Key: t.name}).Str, time.Since(t.acquired))
}

// lossOf is loss by the server's reply to INFO, for a lock that was held for a time.
func lossOf(info string, held time.Duration) string {
	fields := script.ReadInfo(info)
	seconds, err := strconv.Atoi(fields["uptime_in_seconds"])
	up := time.Duration(min(max(seconds, 0), 1<<31-1)) * time.Second
	switch {
	case err == nil && up+time.Second < held:
		return "the server was restarted, and has lost its data"
	case up < held || fields["second_repl_offset"] != "-1":
		return "it was forced, or Redis lost it"
	}
	return "somebody freed it"
}
