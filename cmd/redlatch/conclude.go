package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
	"github.com/redlatch/redlatch/internal/renew"
)

// conclude ends the hold and says how it went.
func (t *task) conclude(client *redlatch.Client, hold *redlatch.Hold, end supervise.End, signals <-chan os.Signal) error {
	switch {
	case len(end.Left) > 0:
		// They may still work under the lock. They keep it until its lease ends.
		t.raise(hold)
		hold.Detach()
		return exit(exitLost, "%s: processes %v could not be killed; it is left to them until its lease ends", t.kind.of(t.name), end.Left)
	case end.Why != "" && end.Why != supervise.SwitchDied:
		return t.stopped(client, hold, end, signals)
	}
	if end.LeftBehind > 0 && !t.quiet {
		tell(fmt.Errorf("%s: the command left processes behind, which were stopped: %d", t.kind.of(t.name), end.LeftBehind))
	}
	t.stay(hold, signals)
	err := hold.Unlock(context.Background())
	switch {
	case end.Why == supervise.SwitchDied:
		return exit(exitFailure, "%s: the process that stops the command in time was killed: the command was killed as well", t.kind.of(t.name))
	case errors.Is(err, renew.ErrExpired):
		// The switch saw the command end before the deadline, and this process was paused then.
	case errors.Is(err, redlatch.ErrLost):
		return exit(exitLost, "%w; the command had ended by then; %s", err, t.holderNow(client))
	case err != nil:
		tell(fmt.Errorf("%w; the hold ends with its lease", err))
	}
	return asCommandEnded(end)
}

// stopped says why a command was stopped, and releases what is left of the hold. It does not wait
// for a release if Redis does not answer: the lease ends in a moment.
func (t *task) stopped(client *redlatch.Client, hold *redlatch.Hold, end supervise.End, signals <-chan os.Signal) error {
	why, planned := t.cause(client, hold, end)
	now := t.holderNow(client)
	if t.unanswered = now == unanswered; t.unanswered {
		hold.Detach()
	} else if hold.Err() == nil {
		if t.stay(hold, signals); hold.Unlock(context.Background()) == nil {
			now = t.holderNow(client)
		}
	}
	if !planned {
		why += "; " + now
	}
	return exit(exitLost, "%s: %s", t.kind.of(t.name), why)
}

const unanswered = "Redis does not answer"

// holderNow says who has the lock after it was lost.
func (t *task) holderNow(client *redlatch.Client) string {
	ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
	defer cancel()
	if t.kind.permits > 0 {
		n, err := client.PermitSemaphore(t.name).Available(ctx)
		if err != nil {
			return unanswered
		}
		return fmt.Sprintf("permits that are available now: %d", n)
	}
	status, err := readStatus(ctx, client, t.name)
	switch {
	case err != nil:
		return unanswered
	case !status.Locked:
		return "it is free now"
	}
	if len(status.Holders) == 0 { // of very many fields the server may name none
		return "it is held now"
	}
	return "it is held by " + shown(status.Holders[0].Owner, status.Holders[0].Name) + " now"
}

// answerWithin bounds a question at the end of a hold.
const answerWithin = time.Second
