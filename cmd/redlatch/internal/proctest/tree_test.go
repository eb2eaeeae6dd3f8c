//go:build unix

package proctest

import (
	"syscall"
	"testing"
	"time"
)

// Goal: a tree that nobody joins is released at the end of its test, whatever signals come.
// Method: signals arrive all the time, each of which may make the reader open the pipe anew.
func TestATreeThatNobodyJoinsIsReleased(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Microsecond):
				syscall.Kill(syscall.Getpid(), syscall.SIGCHLD)
			}
		}
	}()
	for range 300 {
		t.Run("", func(t *testing.T) {
			NewTree(t)
			time.Sleep(time.Millisecond) // for the reader to reach the pipe
		})
	}
	close(stop)
	<-stopped
}
