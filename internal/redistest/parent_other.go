//go:build !linux

package redistest

import "syscall"

// dieWithParent is a wish that only Linux fulfils.
func dieWithParent() *syscall.SysProcAttr { return nil }
