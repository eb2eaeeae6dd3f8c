//go:build unix

package supervise

import "golang.org/x/sys/unix"

// Job control: a command that was stopped with Ctrl-Z takes the holder with it, so that the
// shell gets its prompt back. Nothing renews the hold then. That is why everything is stopped
// before, and nothing goes on afterwards before the hold was looked at. The switch itself stays
// awake: it stops the tree for good when its time comes.

// leaderStopped finds out why the command stopped.
func (s *supervisor) leaderStopped(number unix.Signal) {
	switch {
	case s.terminal == nil || s.asleep || s.frozen:
		// Somebody stopped the command on its own, which keeps the lock, or it was us.
	case number == unix.SIGTTIN || number == unix.SIGTTOU:
		s.terminal.wanted = true
		s.lendOnDemand()
	case s.terminal.lent:
		// The kernel has told only the command's group. Others of this job, such as
		// the reader of a pipe, are to stop with it.
		unix.Kill(-s.terminal.ours, unix.SIGTSTP)
		s.pause()
	}
}

// lendOnDemand gives the terminal to a command that was stopped for want of it.
func (s *supervisor) lendOnDemand() {
	if s.terminal != nil && s.terminal.wanted && s.terminal.has(s.terminal.ours) {
		s.terminal.lend()
		s.tree.signal(inGroup, s.endOfGuard(), unix.SIGCONT)
	}
}

// pause stops everything, and has the holder stop itself.
func (s *supervisor) pause() {
	if s.stopping || s.asleep {
		return
	}
	s.asleep = true
	s.tree.stop(s.times.margin / 2)
	s.terminal.takeBack()
	s.report(report{Paused: true})
}

// goOn continues what was stopped, unless its time is over: then it never wakes up.
func (s *supervisor) goOn() {
	s.asleep = false
	if s.stopping || s.frozen || s.due() != "" {
		return
	}
	if s.terminal != nil && s.terminal.lent {
		s.terminal.lend()
	}
	s.tree.still = false
	s.tree.signal(anywhere, s.endOfGuard(), unix.SIGCONT)
}
