//go:build !linux

package databases_test

import "syscall"

// dieWithParent is a wish that only Linux fulfils.
func dieWithParent(as syscall.SysProcAttr) *syscall.SysProcAttr { return &as }
