//go:build unix

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// start starts the command in a process group of its own, of which it is the leader. It is
// for the thread that lasts as long as this process.
func (c Command) start(t *terminal) (leader int, err error) {
	attributes := &syscall.ProcAttr{
		Env:   c.Env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	if t.lendable() {
		// It must have the terminal before it could try to use it.
		attributes.Sys.Foreground, attributes.Sys.Ctty = true, t.fd
		t.lent = true
	}
	dieWithParent(attributes.Sys)
	unix.Setpriority(unix.PRIO_PROCESS, 0, c.niceness) // of this thread, as the command gets it
	defer hurry()
	leader, err = syscall.ForkExec(c.Path, c.Args, attributes)
	if err == unix.ENOEXEC {
		c = c.byShell()
		leader, err = syscall.ForkExec(c.Path, c.Args, attributes)
	}
	if err != nil {
		return 0, err
	}
	if t != nil {
		t.command = leader
	}
	return leader, nil
}

// Replace becomes the command: it returns only if that fails, with an error that matches
// what os.StartProcess returns.
func Replace(c Command) error {
	err := syscall.Exec(c.Path, c.Args, c.Env)
	if err == unix.ENOEXEC {
		c = c.byShell()
		err = syscall.Exec(c.Path, c.Args, c.Env)
	}
	return &os.PathError{Op: "start", Path: c.Path, Err: err}
}

// byShell is for a script that does not say what runs it: one for the shell, as for every
// program that starts others with execvp.
func (c Command) byShell() Command {
	return Command{Path: "/bin/sh", Args: append([]string{"/bin/sh", c.Path}, c.Args[1:]...), Env: c.Env}
}
