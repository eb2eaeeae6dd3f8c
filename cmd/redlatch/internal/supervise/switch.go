//go:build unix

package supervise

import (
	"encoding/json"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// init is where the process of the switch begins and ends: before the packages of the program
// that it does not need are ready, which takes longer than all that it does at its start.
func init() {
	if len(os.Args) == 3 && os.Args[0] == switchName {
		runtime.LockOSThread() // it has the command, which dies with it
		os.Exit(beSwitch(os.Args[1], os.Args[2]))
	}
}

// beSwitch starts and guards the command that the holder names. It has no exit code that
// anybody asks for.
func beSwitch(in, out string) int {
	nameProcess(switchName)
	usual := niceness()
	hurry()
	startThreads()
	pipes, err := openPipes(in, out)
	if err != nil {
		return 1
	}
	messages := json.NewDecoder(pipes.in)
	var a assignment
	if messages.Decode(&a) != nil {
		return 1 // the holder is gone
	}
	o := &orders{deadline: a.Deadline, done: make(chan struct{}), news: make(chan struct{}, 1), signals: make(chan syscall.Signal, 64)}
	go o.read(messages)
	s := newSupervisor(o, a, json.NewEncoder(pipes.out))
	end, err := s.run(a.command(usual))
	if errno, ok := err.(syscall.Errno); ok {
		s.report(report{Errno: errno})
	} else {
		s.report(report{End: &end})
	}
	return 0
}

// openPipes opens what the holder has handed down. The command does not get it.
func openPipes(in, out string) (channel, error) {
	var files [2]*os.File
	for i, text := range []string{in, out} {
		number, err := strconv.Atoi(text)
		if err != nil {
			return channel{}, err
		}
		syscall.CloseOnExec(number)
		files[i] = os.NewFile(uintptr(number), text)
	}
	return channel{files[0], files[1]}, nil
}

func (a assignment) command(niceness int) Command {
	c := Command{Path: string(a.Path), Env: os.Environ(), niceness: niceness}
	for _, one := range a.Args {
		c.Args = append(c.Args, string(one))
	}
	return c
}

// orders is the hold as the switch knows it.
type orders struct {
	mu       sync.Mutex
	deadline instant
	lease    time.Duration       // with it; 0: that of the assignment
	why      Reason              // the tree is to be stopped; it is set before done is closed
	done     chan struct{}       // closed when the tree is to be stopped
	news     chan struct{}       // capacity one: there is a new deadline
	signals  chan syscall.Signal // that reached the holder
}

func (o *orders) Done() <-chan struct{} { return o.done }

func (o *orders) Deadline() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.deadline.time()
}

// read takes orders until the tree is to be stopped. The end of the pipe is the holder's.
func (o *orders) read(messages *json.Decoder) {
	for {
		next := order{}
		if messages.Decode(&next) != nil {
			next.Stop = alone
		}
		switch {
		case next.Stop != "":
			o.why = next.Stop
			close(o.done)
			return
		case next.Signal != 0:
			select {
			case o.signals <- next.Signal:
			default: // as the kernel does with one that is pending
			}
		default:
			o.move(next.Deadline, next.Lease)
		}
	}
}

// move takes note of a new deadline.
func (o *orders) move(deadline instant, lease time.Duration) {
	o.mu.Lock()
	o.deadline, o.lease = deadline, lease
	o.mu.Unlock()
	select {
	case o.news <- struct{}{}:
	default:
	}
}

// span is the lease of the hold, as far as the holder has told.
func (o *orders) span() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lease
}
