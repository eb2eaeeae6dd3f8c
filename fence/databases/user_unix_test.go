//go:build unix

package databases_test

import "syscall"

// runAs has a process run as another user.
func runAs(as *syscall.SysProcAttr, user, group uint32) {
	as.Credential = &syscall.Credential{Uid: user, Gid: group}
}
