package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"syscall"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
	"github.com/redlatch/redlatch/internal/protocol"
)

// task is a command to run under a lock.
type task struct {
	runFlags
	name      string
	inherited inheritedHolds
	command   supervise.Command
	limits    supervise.Limits
	config    redlatch.Config
	options   []redlatch.LockOption
	fixed     bool // the lease is not renewed
}

// run carries out the task. Its error has the exit code, also of a command that ended
// well.
func (t *task) run(ctx context.Context) error {
	signals, stop := listen()
	defer stop()
	waiting, stopListening := untilSignal(ctx, signals)
	client, hold, err := t.acquire(waiting)
	if client != nil {
		defer closeClient(client)
	}
	// If a signal comes together with the lock, the command is not run. Closing the
	// client releases the lock.
	if interrupted := stopListening(); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return err
	}

	t.command.Env = t.inherited.environment(inheritedHold{t.name, hold.Owner(), hold.Token()}, hold.Deadline())
	watched, release := t.watch(client, hold)
	end, err := supervise.Run(t.command, watched, t.limits, signals)
	release()
	if err != nil {
		_ = hold.Unlock(ctx)
		return cannotRun(t.command.Args[0], err)
	}
	return t.conclude(client, hold, end)
}

// acquire connects and acquires the lock.
func (t *task) acquire(ctx context.Context) (*redlatch.Client, *redlatch.Hold, error) {
	client, err := t.server.connect(ctx, t.config)
	if err != nil {
		return nil, nil, err
	}
	lock := t.kind.lock(client, t.name)
	outer, deadline, err := t.inherited.find(ctx, client, t.name)
	switch {
	case err != nil:
		return client, nil, err
	case outer != nil && t.reentrant:
		closeClient(client)
		return nil, nil, t.runUnder(*outer, deadline)
	case outer != nil:
		return client, nil, errNested(outer)
	}
	hold, err := lock.Lock(ctx, t.options...)
	if err != nil {
		return client, nil, t.notAcquired(err)
	}
	return client, hold, nil
}

// runUnder becomes the command, under an inherited hold. The redlatch that has the hold
// supervises this process, and so the command.
func (t *task) runUnder(outer inheritedHold, deadline time.Time) error {
	t.command.Env = t.inherited.environment(outer, deadline)
	return cannotRun(t.command.Args[0], supervise.Replace(t.command))
}

// cannotRun is the error of a command that was not started.
func cannotRun(name string, err error) error {
	var path *fs.PathError
	switch {
	case errors.As(err, &path) && path.Op == "start" && path.Err == syscall.ENOENT:
		// It was there when it was looked up.
		return exit(exitNotFound, "%s: the program that its first line names was not found", name)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, syscall.ENOENT):
		return exit(exitNotFound, "%s: there is no such command", name)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner // the rest repeats the name
	}
	return exit(exitCannotRun, "%s: it cannot be run: %w", name, err)
}

// notAcquired is the end of a wait for the lock.
func (t *task) notAcquired(err error) error {
	switch {
	case errors.Is(err, redlatch.ErrNotAcquired) && t.quiet:
		return &exitError{code: t.conflictCode}
	case errors.Is(err, redlatch.ErrNotAcquired) && t.nonblock:
		return exit(t.conflictCode, "%w; the command was not run (--wait waits for the lock)", err)
	case errors.Is(err, redlatch.ErrNotAcquired):
		return exit(t.conflictCode, "%w; the command was not run", err)
	case errors.Is(err, redlatch.ErrUnknownOutcome):
		return exit(exitFailure, "%w; the command was not run, and the lock may be taken until its lease of %v ends", err, t.limits.Lease)
	}
	return failed(err)
}

// conclude releases the lock and says how it went.
func (t *task) conclude(client *redlatch.Client, hold *redlatch.Hold, end supervise.End) error {
	switch {
	case len(end.Left) > 0:
		// They may still work under the lock. They keep it until its lease ends.
		hold.Detach()
		return exit(exitLost, "lock %q: processes %v could not be killed; the lock is left to them until its lease ends", t.name, end.Left)
	case end.Why == supervise.OutOfTime && !t.fixed:
		return t.unproven(client, hold)
	}
	err := hold.Unlock(context.Background())
	if end.LeftBehind > 0 && !t.quiet {
		tell(fmt.Errorf("lock %q: the command left processes behind, which were stopped: %d", t.name, end.LeftBehind))
	}
	switch {
	case errors.Is(err, redlatch.ErrLost) && end.Why == "":
		return exit(exitLost, "%w; the command had ended by then; %s", err, t.holderNow(client))
	case end.Why == supervise.Lost:
		return exit(exitLost, "lock %q: hold lost: it was forced, or Redis lost it: the command was stopped; %s", t.name, t.holderNow(client))
	case end.Why == supervise.OutOfTime:
		return exit(exitLost, "lock %q: its lease of %v was over: the command was stopped before; a longer --lease, or none, gives it more time", t.name, t.limits.Lease)
	case err != nil:
		tell(fmt.Errorf("%w; the lock ends with its lease, within %v", err, t.limits.Lease))
	}
	return &exitError{code: end.Code}
}

// unproven ends a hold whose renewal did not come in time. If Redis still does not answer,
// it does not wait for the release: the lease ends in a moment.
func (t *task) unproven(client *redlatch.Client, hold *redlatch.Hold) error {
	now := t.holderNow(client)
	if now == unanswered {
		hold.Detach()
	} else if hold.Unlock(context.Background()) == nil {
		now = t.holderNow(client)
	}
	return exit(exitLost, "lock %q: Redis did not confirm the hold in time: the command was stopped before the lease ended; %s", t.name, now)
}

const unanswered = "Redis does not answer"

// holderNow says who has the lock after it was lost.
func (t *task) holderNow(client *redlatch.Client) string {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
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
	return "it is held by " + protocol.Show(status.Holders[0].Owner) + " now"
}
