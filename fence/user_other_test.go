//go:build !unix

package fence_test

import "syscall"

// runAs does nothing: there are no such users.
func runAs(*syscall.SysProcAttr, uint32, uint32) {}
