//go:build unix

package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// Job control: a command that was stopped with Ctrl-Z takes this process with it, so that
// the shell gets its prompt back. Nothing renews the hold then. That is why everything is
// stopped before, and nothing goes on afterwards before the hold was looked at.

// leaderStopped finds out why the command stopped.
func (s *supervisor) leaderStopped(number unix.Signal) {
	switch {
	case s.terminal == nil:
		// Somebody stopped the command on its own. It keeps the lock.
	case number == unix.SIGTTIN || number == unix.SIGTTOU:
		s.terminal.wanted = true
		s.lendOnDemand()
	case s.terminal.lent:
		// The kernel has told only the command's group. Others of this job, such as
		// the reader of a pipe, are to stop with it.
		unix.Kill(0, unix.SIGTSTP)
		select {
		case <-s.paused: // one of them is this process
		case <-time.After(time.Second):
		}
		s.pause()
	}
}

// lendOnDemand gives the terminal to a command that was stopped for want of it.
func (s *supervisor) lendOnDemand() {
	if s.terminal != nil && s.terminal.wanted && s.terminal.has(s.terminal.ours) {
		s.terminal.lend()
		s.tree.signal(inGroup, unix.SIGCONT)
	}
}

// pause stops everything, and then this process. It returns when it is continued.
func (s *supervisor) pause() {
	if s.stopping {
		return
	}
	s.tree.signal(anywhere, unix.SIGSTOP)
	s.terminal.takeBack()
	// SIGTSTP is no use: the runtime does not give up a signal that it has once
	// listened to. SIGSTOP would stop a process that no shell can continue. SIGTTIN
	// has no effect there, and otherwise the one that is wanted.
	s.stopSelf(unix.SIGTTIN)
	s.goOn()
}

// goOn continues what was stopped, unless its time is over: then it never wakes up.
func (s *supervisor) goOn() {
	if s.stopping || s.due() != "" {
		return
	}
	if s.terminal != nil && s.terminal.lent {
		s.terminal.lend()
	}
	s.tree.signal(anywhere, unix.SIGCONT)
}
