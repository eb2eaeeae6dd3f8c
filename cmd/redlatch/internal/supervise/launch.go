//go:build unix

package supervise

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// switchName is the name of the switch, by which its program knows what it is. It does not
// contain that of the holder: who kills one by its name leaves the other.
const switchName = "rl-switch"

// startWithin bounds the first message to the switch.
const startWithin = 10 * time.Second

// launch starts the switch, which starts the command.
func launch(c Command, hold Hold, limits Limits) (*holder, error) {
	ours, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	h := newHolder(hold, limits, ours)
	if h.pid, err = startSwitch(theirs, c.Env); err == nil {
		err = h.assign(c, limits)
	}
	if err != nil {
		h.close()
		return nil, fmt.Errorf("%w: %w", ErrSwitch, err)
	}
	go h.read()
	return h, nil
}

// channel is one side's ends of both pipes.
type channel struct{ in, out *os.File }

func pipes() (holder, swtch channel, err error) {
	if swtch.in, holder.out, err = os.Pipe(); err != nil {
		return channel{}, channel{}, err
	}
	if holder.in, swtch.out, err = os.Pipe(); err != nil {
		swtch.in.Close()
		holder.out.Close()
	}
	return holder, swtch, err
}

func (c channel) close() {
	c.in.Close()
	c.out.Close()
}

// startSwitch starts the switch in a process group of its own: a signal to this job is for
// the holder alone. The pipes keep their numbers, since the command may expect a file of its
// own under any other.
func startSwitch(theirs channel, env []string) (pid int, err error) {
	program, err := self()
	if err != nil {
		return 0, err
	}
	arguments := []string{switchName}
	for _, end := range []*os.File{theirs.in, theirs.out} {
		number, err := inheritable(end)
		if err != nil {
			return 0, err
		}
		arguments = append(arguments, strconv.Itoa(number))
	}
	return syscall.ForkExec(program, arguments, &syscall.ProcAttr{
		Env:   env,
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
}

// inheritable makes a file one that the next program gets, under the number returned. It is
// not os.File.Fd, which would make the pipe a blocking one.
func inheritable(f *os.File) (number int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := raw.Control(func(fd uintptr) {
		number = int(fd)
		_, err = unix.FcntlInt(fd, unix.F_SETFD, 0)
	})
	if err == nil {
		err = failed
	}
	return number, err
}

// assign sends the command to the switch.
func (h *holder) assign(c Command, limits Limits) error {
	h.sent = h.hold.Deadline()
	a := assignment{Path: []byte(c.Path), Limits: limits, Deadline: instantOf(h.sent), Group: unix.Getpgrp()}
	for _, one := range c.Args {
		a.Args = append(a.Args, []byte(one))
	}
	h.pipes.out.SetWriteDeadline(time.Now().Add(startWithin))
	return json.NewEncoder(h.pipes.out).Encode(a)
}

// tell sends an order to the switch. It does not wait: a small message enters a pipe whole or
// not at all. It does not enter if the switch has been paused for very long.
func (h *holder) tell(o order) bool {
	text, err := json.Marshal(o)
	if err != nil {
		panic("redlatch: " + err.Error()) // numbers and a word
	}
	raw, err := h.pipes.out.SyscallConn()
	if err != nil {
		return false
	}
	written := 0
	err = raw.Control(func(fd uintptr) { written, _ = unix.Write(int(fd), append(text, '\n')) })
	return err == nil && written > 0
}

// read passes on the reports of the switch, until it ends or is not listened to any more.
func (h *holder) read() {
	defer close(h.reports)
	for lines := json.NewDecoder(h.pipes.in); ; {
		var r report
		if lines.Decode(&r) != nil {
			return
		}
		select {
		case h.reports <- r:
		case <-h.over:
			return
		}
	}
}
