package databases_test

import "syscall"

// dieWithParent has the kernel end a server whose test was killed before it could clean
// up. PostgreSQL's own children notice that by themselves.
func dieWithParent(as syscall.SysProcAttr) *syscall.SysProcAttr {
	as.Pdeathsig = syscall.SIGQUIT
	return &as
}
