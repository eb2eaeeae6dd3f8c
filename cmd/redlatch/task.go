package main

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/supervise"
)

// task is a command to run under a lock.
type task struct {
	runFlags
	name      string
	demanded  []string // the flags of the command line
	inherited inheritedHolds
	command   supervise.Command
	limits    supervise.Limits
	options   []redlatch.LockOption
	lock      redlatch.Lock
	owner     context.Context // with --at-least: the one under which the lock was taken
	acquired  time.Time
	// unanswered says that Redis did not answer at the end.
	unanswered bool
	patience   patience
}

// run carries out the task. Its error has the exit code, also of a command that ended
// well.
func (t *task) run(ctx context.Context) error {
	signals, stop := listen()
	defer stop()
	waiting, stopListening := untilSignal(ctx, signals)
	client, hold, err := t.acquire(waiting)
	if client != nil {
		defer func() {
			if !t.unanswered { // nothing is to be waited for then
				closeClient(client)
			}
		}()
	}
	// If a signal comes together with the lock, the command is not run. Closing the
	// client releases the lock.
	if interrupted := stopListening(); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return err
	}

	t.command.Env = t.environment(inheritedHold{t.name, hold.Owner(), hold.Token()}, hold.Deadline())
	watched, release := t.watch(client, hold, signals)
	end, err := supervise.Run(t.command, watched, t.limits, signals)
	release()
	if err != nil {
		_ = hold.Unlock(ctx)
		if errors.Is(err, supervise.ErrSwitch) {
			return failed(err)
		}
		return cannotRun(t.command.Args[0], err)
	}
	return t.conclude(client, hold, end, signals)
}

// acquire connects and acquires the lock.
func (t *task) acquire(ctx context.Context) (*redlatch.Client, *redlatch.Hold, error) {
	client, err := t.patience.connect(ctx, &t.server, t.config)
	if err != nil {
		return nil, nil, err
	}
	outer, err := t.outer(ctx, client)
	switch {
	case err != nil:
		return client, nil, err
	case outer != nil && t.reentrant:
		closeClient(client)
		return nil, nil, t.runUnder(outer)
	case outer != nil:
		return client, nil, errNested(outer)
	}
	t.lock = t.kind.lock(client, t.name)
	if t.atLeast > 0 {
		ctx = client.WithOwner(ctx)
		t.owner = context.WithoutCancel(ctx)
	}
	hold, err := t.patience.take(ctx, client, &t.kind, t.lock, t.options)
	if err != nil {
		return client, nil, t.notAcquired(err)
	}
	t.acquired = time.Now()
	return client, hold, nil
}

// outer is the hold of this lock under which this process runs already, or nil. Each command takes a permit of its
// own. The error is that of a wait that would not end.
func (t *task) outer(ctx context.Context, client *redlatch.Client) (*outerHold, error) {
	if t.kind.ticket != "" {
		return nil, nil
	}
	if t.kind.permits > 0 {
		return nil, t.inherited.all(ctx, client, t.name, &t.kind)
	}
	return t.inherited.find(ctx, client, t.name)
}

// runUnder becomes the command, under an inherited hold. The redlatch that has the hold
// supervises this process, and so the command.
func (t *task) runUnder(outer *outerHold) error {
	if err := outer.refuse(t.demanded); err != nil {
		return err
	}
	t.command.Env = t.environment(outer.inheritedHold, outer.deadline)
	return cannotRun(t.command.Args[0], supervise.Replace(t.command))
}

// environment is that of the command.
func (t *task) environment(hold inheritedHold, deadline time.Time) []string {
	return handDown(t.inherited.environment(hold, deadline))
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
	_, known := errors.AsType[*exitError](err)
	switch {
	case known:
		return err
	case errors.Is(err, redlatch.ErrNotAcquired) && t.quiet:
		return &exitError{code: t.conflictCode}
	case errors.Is(err, redlatch.ErrNotAcquired) && t.nonblock:
		return exit(t.conflictCode, "%w; the command was not run (--wait waits)", err)
	case errors.Is(err, redlatch.ErrNotAcquired):
		return exit(t.conflictCode, "%w; the command was not run", err)
	case errors.Is(err, redlatch.ErrUnknownOutcome):
		return exit(exitFailure, "%w; it may be taken until its lease ends, and the command was not run", err)
	}
	return failed(err)
}
