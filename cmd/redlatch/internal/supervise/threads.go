//go:build unix

package supervise

import (
	"runtime"
	"sync"
)

// threads is how many one of the two processes has for sure: some for what it does, and some for calls
// that the kernel does not answer at once.
const threads = 8

// hurried is the niceness of a process that comes before others.
const hurried = -20

// startThreads has the Go runtime start its threads, which it keeps. A command may take all the
// processes that its user or its container may have, and the runtime aborts if it needs a thread
// then and gets none.
func startThreads() {
	runtime.GOMAXPROCS(2) // each processor wants a thread
	var ready sync.WaitGroup
	enough := make(chan struct{})
	for range threads {
		ready.Add(1)
		go func() {
			runtime.LockOSThread()
			ready.Done()
			<-enough
			runtime.UnlockOSThread()
		}()
	}
	ready.Wait()
	close(enough)
}
