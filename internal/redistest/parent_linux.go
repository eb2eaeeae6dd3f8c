package redistest

import "syscall"

// dieWithParent has the kernel end a server whose test process was killed
// before it could clean up.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
