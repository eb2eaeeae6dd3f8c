package demo

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// apart keeps the terminal's Ctrl-C away from an actor, because the parent tells it
// when to leave, and has the kernel kill it when the parent dies.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// stillborn says that the process ended before it became the program. A signal to the group of its parent does that, until
// the process has left the group.
func (p *process) stillborn() bool {
	const forkNoExec = 0x40 // PF_FORKNOEXEC of the kernel
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid()))
	_, rest, _ := strings.Cut(string(stat), ") ") // state ppid pgrp session tty_nr tpgid flags
	fields := append(strings.Fields(rest), make([]string, 7)...)
	flags, _ := strconv.Atoi(fields[6])
	return flags&forkNoExec != 0
}
