//go:build unix

package demo

import "syscall"

// stop stops a process as a freezer does, and resume lets it go on.
func (p *player) stop() error   { return p.command.Process.Signal(syscall.SIGSTOP) }
func (p *player) resume() error { return p.command.Process.Signal(syscall.SIGCONT) }
