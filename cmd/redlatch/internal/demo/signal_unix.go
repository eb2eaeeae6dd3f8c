//go:build unix

package demo

import "syscall"

// stop stops a process as a freezer does, and resume lets it go on.
func (p *process) stop() error   { return p.command.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error { return p.command.Process.Signal(syscall.SIGCONT) }
