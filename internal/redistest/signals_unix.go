//go:build unix

package redistest

import "syscall"

// The signals that freeze a process and have it go on.
const (
	SIGSTOP = syscall.SIGSTOP
	SIGCONT = syscall.SIGCONT
)

// AwaitStopped waits until a child has been stopped by SIGSTOP.
func AwaitStopped(pid int) error {
	var status syscall.WaitStatus
	_, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
	return err
}
