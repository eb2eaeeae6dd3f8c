package demo

import "syscall"

// apart keeps the terminal's Ctrl-C away from an actor, because the parent tells it
// when to leave, and has the kernel kill it when the parent dies.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
