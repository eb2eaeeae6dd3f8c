//go:build !linux

package demo

import "syscall"

// apart is a wish that only Linux fulfils. Elsewhere a worker outlives its parent
// until it sees its stdin end.
func apart() *syscall.SysProcAttr { return nil }
