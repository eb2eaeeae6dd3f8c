//go:build unix

package supervise

import (
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// terminal is the one at which the user sits. A nil one is none. Its foreground is one
// process group: that group may read, and Ctrl-C and Ctrl-Z are for it.
type terminal struct {
	fd      int
	ours    int // the process group of the holder, which the shell knows
	command int // that of the command
	// lent says that the command has the foreground, or shall have it again when
	// this job comes back to the front.
	lent bool
	// wanted says that the command was stopped because it used the terminal without
	// having the foreground.
	wanted bool
	before *term.State // its modes before the command was started, nil if unknown
}

// findTerminal returns the terminal at stdin, for a holder in that process group.
func findTerminal(ours int) *terminal {
	if !term.IsTerminal(unix.Stdin) {
		return nil
	}
	before, _ := term.GetState(unix.Stdin)
	return &terminal{fd: unix.Stdin, ours: ours, before: before}
}

// lendable says whether the command gets the foreground from the start. Not if stdout is
// something else: at the other end of a pipe may be a program that needs the terminal,
// such as a pager.
func (t *terminal) lendable() bool {
	return t != nil && t.has(t.ours) && term.IsTerminal(unix.Stdout)
}

// has says whether a group has the foreground.
func (t *terminal) has(group int) bool {
	now, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && now == group
}

// lend moves the command to the foreground, if it is ours to give.
func (t *terminal) lend() {
	if t.has(t.ours) && unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.command) == nil {
		t.lent, t.wanted = true, false
	}
}

// isLent says whether the command has the foreground now.
func (t *terminal) isLent() bool { return t != nil && t.lent && t.has(t.command) }

// takeBack moves the holder to the foreground if the command has it, or nobody who is alive: a shell
// under the lock may have lent it to a job of its own. Otherwise the shell around this job has taken
// it, for another job.
func (t *terminal) takeBack() {
	if t != nil && (t.has(t.command) || t.isAbandoned()) {
		unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.ours)
	}
}

// isAbandoned says that the group that has the foreground is gone.
func (t *terminal) isAbandoned() bool {
	now, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	return err == nil && unix.Kill(-now, 0) == unix.ESRCH
}

// recover moves the holder to the foreground after the switch has died that had lent it.
func (t *terminal) recover(command int) {
	if t != nil {
		t.command = command
		signal.Ignore(unix.SIGTTOU)
		t.takeBack()
		t.restore()
	}
}

// restore gives the terminal its modes back after the command was stopped, which may not have done so.
func (t *terminal) restore() {
	if t != nil && t.before != nil && t.has(t.ours) {
		_ = term.Restore(t.fd, t.before)
	}
}
