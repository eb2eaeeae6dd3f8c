package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel kill the command when its parent's thread ends without having
// been able to. The kernel forgets this when a program with more privileges is started.
func dieWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }

// self is this program, also after its file was replaced. It is an error if /proc is missing, or
// numbers the processes of another namespace: then nobody could find what the command starts.
func self() (string, error) {
	number, err := os.Readlink("/proc/self")
	if err == nil && number != strconv.Itoa(os.Getpid()) {
		err = fmt.Errorf("/proc is that of another PID namespace (unshare has --mount-proc)")
	}
	return "/proc/self/exe", err
}

// nameProcess gives the process the name that ps and pkill show. It is for the main thread.
func nameProcess(name string) {
	text, err := unix.BytePtrFromString(name)
	if err == nil {
		unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(text)), 0, 0, 0)
	}
}

// stopSelf stops this process with a signal that does so, and returns when it is
// continued, or at once if the kernel ignores the signal. It is meant for this thread:
// one for the process could take effect on another, and this one would run on for a while.
func (h *holder) stopSelf(number unix.Signal) { unix.Tgkill(os.Getpid(), unix.Gettid(), number) }

// niceness is how far this process stands back for others.
func niceness() int {
	raw, _ := unix.Getpriority(unix.PRIO_PROCESS, 0) // of this thread, and the kernel counts from 20 down
	return 20 - raw
}

// hurry gets each thread of this process the processor before others, where that is permitted, as to root. What
// it has to do has to be done in time. Later threads have the priority of those that start them.
func hurry() {
	threads, _ := os.ReadDir("/proc/self/task")
	for _, thread := range threads {
		if number, err := strconv.Atoi(thread.Name()); err == nil {
			unix.Setpriority(unix.PRIO_PROCESS, number, hurried)
		}
	}
}

// tasks is how many threads the machine has, 0 if that is unknown.
func tasks() (n int) {
	text, _ := os.ReadFile("/proc/loadavg")
	if words := strings.Fields(string(text)); len(words) > 3 {
		_, all, _ := strings.Cut(words[3], "/")
		n, _ = strconv.Atoi(all)
	}
	return n
}
