//go:build !linux

package demo

import "syscall"

// apart does nothing outside Linux. There an actor outlives its parent until it sees
// its stdin end.
func apart() *syscall.SysProcAttr { return nil }

// stillborn does not know: nothing leaves the group.
func (p *process) stillborn() bool { return false }
