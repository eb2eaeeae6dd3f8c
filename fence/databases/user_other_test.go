//go:build !unix

package databases_test

import "syscall"

// runAs does nothing: there are no such users.
func runAs(*syscall.SysProcAttr, uint32, uint32) {}
