//go:build unix

package supervise

import (
	"cmp"
	"errors"
	"os"
	"os/signal"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is one run of a command.
type supervisor struct {
	hold     Hold
	times    schedule
	grace    time.Duration
	tree     *processTree
	terminal *terminal

	passOn    <-chan os.Signal // for the command
	children  chan os.Signal   // something about a child changed
	paused    chan os.Signal   // Ctrl-Z
	continued chan os.Signal

	ended    bool // the command; status says how
	status   unix.WaitStatus
	stopping bool
	end      End
}

// Run runs a command under a hold. It blocks until the command has ended, by itself or
// because the hold did, and until what it had started is gone as the package comment
// says. The hold is not released. Signals are passed on to the command.
//
// The error says that the command could not be started; it matches what os.StartProcess
// returns. Run is for the one thing that a process does: it reaps every child, whoever
// started it, and leaves SIGTTOU ignored.
func Run(c Command, hold Hold, limits Limits, signals <-chan os.Signal) (End, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := &supervisor{
		hold:      hold,
		times:     newSchedule(limits.Lease, limits.KillAfter),
		grace:     cmp.Or(limits.Grace, defaultGrace),
		terminal:  findTerminal(),
		passOn:    signals,
		children:  make(chan os.Signal, 1),
		paused:    make(chan os.Signal, 1),
		continued: make(chan os.Signal, 1),
	}
	if why := s.due(); why != "" {
		return End{Why: why}, nil // too late to begin
	}
	defer s.listen()()
	if err := s.start(c); err != nil {
		return End{}, err
	}
	defer s.terminal.takeBack()

	why := s.guard(func() bool { return s.ended })
	if why == "" {
		why = s.stopLeftBehind()
	}
	if why != "" {
		s.stop(why)
	}
	s.end.Code = exitCode(s.status)
	return s.end, nil
}

// listen subscribes to the signals of job control, and returns what undoes it.
func (s *supervisor) listen() (undo func()) {
	signal.Notify(s.children, unix.SIGCHLD)
	signal.Notify(s.continued, unix.SIGCONT)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(s.paused, unix.SIGTSTP)
	}
	return func() {
		for _, c := range []chan os.Signal{s.children, s.continued, s.paused} {
			signal.Stop(c)
		}
	}
}

func (s *supervisor) start(c Command) error {
	s.tree = newTree()
	leader, err := c.start(s.terminal)
	// Whoever is not in the foreground is stopped for moving the terminal on. Only
	// now, because the command would inherit it.
	signal.Ignore(unix.SIGTTOU)
	if err != nil {
		s.terminal.reclaim()
		return err
	}
	s.tree.leader = leader
	return nil
}

// due says whether it is time to stop the command.
func (s *supervisor) due() Reason {
	select {
	case <-s.hold.Done():
		return Lost
	default:
	}
	if passed(s.times.term(s.hold.Deadline()), time.Now()) {
		return OutOfTime
	}
	return ""
}

// guard lets the command run until over holds, or until it has to be stopped.
func (s *supervisor) guard(over func() bool) Reason {
	for !over() {
		if why := s.due(); why != "" {
			return why
		}
		s.attend(s.times.term(s.hold.Deadline()), s.hold.Done())
	}
	return ""
}

// stopLeftBehind stops what is left of the command's group after its end. The hold goes on
// meanwhile.
func (s *supervisor) stopLeftBehind() Reason {
	over := time.Now().Add(s.grace)
	if why := s.guard(func() bool { return s.gone(inGroup) || passed(over, time.Now()) }); why != "" {
		return why
	}
	left := s.tree.left(inGroup)
	if len(left) == 0 {
		return ""
	}
	s.end.LeftBehind = len(left)
	s.ask(inGroup)
	limit := time.Now().Add(s.times.killAfter)
	if why := s.guard(func() bool { return s.gone(inGroup) || passed(limit, time.Now()) }); why != "" {
		return why
	}
	s.kill(inGroup)
	return ""
}

// stop ends everything that descends from the command.
func (s *supervisor) stop(why Reason) {
	s.stopping, s.end.Why = true, why
	now := time.Now()
	kill := s.times.kill(s.hold.Deadline())
	if why == Lost {
		kill = s.times.killLost(s.hold.Deadline(), now)
	}
	// Past that moment nobody is asked any more: a process that was stopped with
	// Ctrl-Z must not wake up to work without the lock.
	if !passed(kill, now) {
		s.ask(anywhere)
		for !s.gone(anywhere) && !passed(kill, time.Now()) {
			s.attend(kill, nil)
		}
	}
	s.kill(anywhere)
}

// ask tells processes to end. One that is stopped hears of it when it goes on.
func (s *supervisor) ask(where scope) { s.tree.signal(where, unix.SIGTERM, unix.SIGCONT) }

// kill kills until nobody is left: a process may be starting another just now.
func (s *supervisor) kill(where scope) {
	for limit := time.Now().Add(patience); !passed(limit, time.Now()); s.attend(limit, nil) {
		s.tree.signal(where, unix.SIGKILL) // first: looking takes time that is short
		if s.gone(where) {
			return
		}
	}
	s.end.Left = s.tree.left(where)
}

// gone says whether the command has ended, and nobody else is left. A process that is
// dead and not reaped yet is gone, but the command's own end has to be known.
func (s *supervisor) gone(where scope) bool {
	s.reap()
	return s.ended && len(s.tree.left(where)) == 0
}

const (
	// defaultGrace is for processes that are just ending by themselves, such as the reader
	// at the end of a pipe.
	defaultGrace = 250 * time.Millisecond
	// patience bounds the wait for a process that does not die of SIGKILL.
	patience = 3 * time.Second
	// longTick bounds how late the end of a suspension is noticed.
	longTick = time.Second
	// shortTick is the time between two checks whether processes are gone. Only
	// children report their end.
	shortTick = 20 * time.Millisecond
)

// attend waits for one event, at most until a moment or until lost is closed, and handles
// it.
func (s *supervisor) attend(until time.Time, lost <-chan struct{}) {
	tick := longTick
	if s.ended || s.stopping {
		tick = shortTick
	}
	timer := time.NewTimer(min(time.Until(until), tick))
	defer timer.Stop()
	select {
	case <-timer.C:
		s.lendOnDemand()
	case <-lost:
	case <-s.children:
		s.reap()
	case number := <-s.passOn:
		s.tree.signal(inGroup, number.(unix.Signal))
	case <-s.paused:
		s.pause()
	case <-s.continued:
		s.goOn()
	}
}

// reap takes note of every child that ended or stopped.
func (s *supervisor) reap() {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			s.tree.childless = errors.Is(err, unix.ECHILD)
			return
		case pid == 0:
			return
		case pid != s.tree.leader || s.ended:
		case status.Stopped():
			s.leaderStopped(status.StopSignal())
		default:
			s.ended, s.tree.reaped, s.status = true, true, status
		}
	}
}

// exitCode is the end of a process as a shell would give it.
func exitCode(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
