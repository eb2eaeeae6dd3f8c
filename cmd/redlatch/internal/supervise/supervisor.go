//go:build unix

package supervise

import (
	"cmp"
	"encoding/json"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is what the switch does during one run of a command.
type supervisor struct {
	hold     *orders
	times    schedule
	limits   Limits
	tree     *processTree
	terminal *terminal
	reports  *json.Encoder

	children chan os.Signal // something about a child changed

	ended    bool // the command; status says how
	status   unix.WaitStatus
	stopping bool
	asleep   bool      // the tree is stopped, since Ctrl-Z
	frozen   bool      // the tree is stopped, since a deadline that a watchdog may have moved on
	scanned  time.Time // when the tree was scanned
	tasks    int       // how many threads the machine had then
	end      End
}

func newSupervisor(hold *orders, a assignment, reports *json.Encoder) *supervisor {
	limits := a.Limits
	limits.Grace = cmp.Or(limits.Grace, defaultGrace)
	return &supervisor{
		hold:     hold,
		times:    newSchedule(limits.Lease, limits.KillAfter),
		limits:   limits,
		tree:     newTree(),
		terminal: findTerminal(a.Group),
		reports:  reports,
		children: make(chan os.Signal, 1),
	}
}

// report tells the holder, which may be gone.
func (s *supervisor) report(r report) { s.reports.Encode(r) }

// run runs the command until it has ended, by itself or because the hold did, and until what it
// had started is gone. The error says that it could not be started.
func (s *supervisor) run(c Command) (End, error) {
	if why := due(s.hold, s.times); why != "" {
		return End{Why: why}, nil // too late to begin
	}
	s.listen()
	if err := s.start(c); err != nil {
		return End{}, err
	}
	s.report(report{Leader: s.tree.leader})

	why := s.guard(func() bool { return s.ended })
	if why == "" {
		why = s.stopLeftBehind()
	}
	if why != "" {
		s.stop(why)
	}
	s.end.Code, s.end.Foreground = s.status.ExitStatus(), s.terminal.isLent()
	if s.status.Signaled() {
		s.end.Signal = s.status.Signal()
		s.end.Code = 128 + int(s.end.Signal)
	}
	s.terminal.takeBack()
	if why != "" {
		s.terminal.restore()
	}
	return s.end, nil
}

// listen subscribes to the end of children. Signals that somebody sends to all processes of a
// service reach the command by themselves, and by the holder: the switch drops them. SIGHUP and SIGINT
// stay ignored, also for the command, if it was started to ignore them, as by nohup. The others do not:
// Go's runtime catches them before any code runs.
func (s *supervisor) listen() {
	signal.Notify(s.children, unix.SIGCHLD)
	dropped := make(chan os.Signal, 1)
	for _, number := range append([]os.Signal{unix.SIGTSTP}, Signals...) {
		if !signal.Ignored(number) {
			signal.Notify(dropped, number)
		}
	}
}

func (s *supervisor) start(c Command) error {
	leader, err := c.start(s.terminal)
	// Whoever is not in the foreground is stopped for moving the terminal on. Only
	// now, because the command would inherit it.
	signal.Ignore(unix.SIGTTOU)
	if err != nil {
		s.terminal.takeBack()
		return err
	}
	s.tree.leader = leader
	return nil
}

// due says whether it is time to stop the command. For a protected hold the deadline does not:
// see freeze.
func (s *supervisor) due() Reason {
	select {
	case <-s.hold.Done():
		return s.hold.why
	default:
	}
	if !s.limits.Protect && passed(s.times.term(s.hold.Deadline()), time.Now()) {
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
		if s.limits.Protect {
			s.freeze()
		}
		if !s.frozen && !s.asleep && passed(s.nextScan(), time.Now()) {
			s.scan()
		}
		s.attend(s.next(), s.hold.Done())
	}
	return ""
}

// next is the moment at which the guard has to do something.
func (s *supervisor) next() time.Time {
	next := s.endOfGuard()
	if s.frozen {
		return time.Now().Add(longTick)
	}
	if scan := s.nextScan(); scan.Before(next) && !s.asleep {
		return scan
	}
	return next
}

// endOfGuard is the moment at which the tree gets a signal, unless the deadline moves on.
func (s *supervisor) endOfGuard() time.Time {
	if s.limits.Protect {
		return s.times.kill(s.hold.Deadline())
	}
	return s.times.term(s.hold.Deadline())
}

// nextScan is when the tree is scanned: now and then, for a fiftieth of the time at most, and once more if
// a renewal has not come in time. It is scanned for a fifth of the time while the machine gets many more threads.
func (s *supervisor) nextScan() time.Time {
	times := time.Duration(50)
	if tasks()-s.tasks > 50+len(s.tree.known)/4 {
		times = 5
	}
	next := s.scanned.Add(max(s.times.lease/4, times*s.tree.walk))
	if late := s.times.unrenewed(s.hold.Deadline()); late.Before(next) && s.scanned.Before(late) {
		return late
	}
	return next
}

// scan gets to know the tree, because near the deadline there is no time for it. The margin grows with
// the time that it takes, and the holder asks for a longer lease if that has no room for the margin.
func (s *supervisor) scan() {
	s.tasks = tasks()
	s.tree.scan(s.endOfGuard(), func(process) {})
	s.scanned = time.Now()
	before := s.times.margin
	if s.times.allow(s.tree.walk); s.times.margin > before || s.times.wants(s.tree.walk) > s.times.lease {
		s.report(report{Walk: s.tree.walk})
	}
}

// stopLeftBehind stops what is left of the command's group after its end. The hold goes on
// meanwhile.
func (s *supervisor) stopLeftBehind() Reason {
	over := time.Now().Add(s.limits.Grace)
	if why := s.guard(func() bool { return s.gone(inGroup) || passed(over, time.Now()) }); why != "" {
		return why
	}
	left := s.tree.left(inGroup)
	if len(left) == 0 {
		return ""
	}
	s.end.LeftBehind = len(left)
	s.ask(inGroup, s.endOfGuard())
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
	s.report(report{Stopping: bootTime()})
	now := time.Now()
	kill := s.times.kill(s.hold.Deadline())
	if why != OutOfTime {
		kill = s.times.killLost(s.hold.Deadline(), now)
	}
	// Past that moment nobody is asked any more: a process that was stopped with
	// Ctrl-Z must not wake up to work without the lock.
	if !passed(kill, now) {
		s.ask(anywhere, kill)
		for !s.gone(anywhere) && !passed(kill, time.Now()) {
			s.attend(kill, nil)
		}
	}
	s.kill(anywhere)
}

// ask tells processes to end, until a moment at the most. One that is stopped hears of it when it goes on.
func (s *supervisor) ask(where scope, until time.Time) {
	s.tree.still = false
	s.tree.signal(where, until, unix.SIGTERM, unix.SIGCONT)
}

// kill ends processes without asking them.
func (s *supervisor) kill(where scope) { s.end.Left = s.tree.kill(where, s.reap) }

// gone says whether the command has ended, and nobody else is left.
func (s *supervisor) gone(where scope) bool {
	s.reap()
	return s.ended && s.tree.gone(where)
}

const (
	// defaultGrace is for processes that are just ending by themselves, such as the reader
	// at the end of a pipe.
	defaultGrace = 250 * time.Millisecond
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
	select {
	case <-time.After(min(time.Until(until), tick)):
		s.lendOnDemand()
	case <-lost:
	case <-s.children:
		s.reap()
	case <-s.hold.news:
		s.times.grow(s.hold.span(), s.tree.walk)
	case number := <-s.hold.signals:
		s.take(number)
	}
}

// take handles a signal that reached the holder.
func (s *supervisor) take(number unix.Signal) {
	switch number {
	case unix.SIGTSTP:
		s.pause()
	case unix.SIGCONT:
		s.goOn()
	default:
		s.tree.signal(inGroup, s.endOfGuard(), number)
	}
}

// reap takes note of every child that ended or stopped.
func (s *supervisor) reap() {
	s.tree.reap(unix.WUNTRACED, func(pid int, status unix.WaitStatus) {
		switch {
		case pid != s.tree.leader || s.ended:
		case status.Stopped():
			s.leaderStopped(status.StopSignal())
		default:
			s.ended, s.tree.reaped, s.status = true, true, status
		}
	})
}
