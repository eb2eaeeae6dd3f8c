//go:build unix

package supervise

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// holder is the process that has the hold, during one run of a command.
type holder struct {
	hold   Hold
	limits Limits
	times  schedule

	sent      time.Time     // the deadline that the switch was told last
	sentLease time.Duration // the lease

	pid      int // of the switch
	pipes    channel
	reports  chan report   // closed when the switch has ended
	over     chan struct{} // closed when nobody listens to it any more
	tree     *processTree  // the switch and all below it
	terminal *terminal

	walk     time.Duration      // the last one of the switch
	extended chan time.Duration // the lease that the hold has got, 0 if none; nil: nobody has asked
	lost     <-chan struct{}    // closed when the hold is lost; nil once the switch was told
	stopping Reason             // that the switch was told
	giveUp   time.Time          // when it should have stopped the tree, if it was told that it is lost
	since    int64              // when it began to stop the tree, as it has said; 0 if it has not

	looked    int64         // at the clock
	paused    time.Duration // for how long this process stood still, since the deadline moved on
	earlier   time.Duration // paused, before the deadline did
	moved     int64         // when that was
	awake     time.Time     // since when it has not
	suspended chan os.Signal
	continued chan os.Signal
	told      bool // of Ctrl-Z
}

func newHolder(hold Hold, limits Limits, pipes channel) *holder {
	tree := newTree()
	tree.reaped = true // the switch may have reaped the leader
	return &holder{
		hold: hold, limits: limits, times: newSchedule(limits.Lease, limits.KillAfter), sentLease: limits.Lease,
		pipes: pipes, reports: make(chan report), over: make(chan struct{}),
		tree: tree, terminal: findTerminal(unix.Getpgrp()),
		lost: hold.Done(), looked: bootTime(), awake: time.Now(),
		suspended: make(chan os.Signal, 1), continued: make(chan os.Signal, 1),
	}
}

func (h *holder) close() {
	close(h.over)
	h.pipes.close()
}

// Run runs a command under a hold. It blocks until the command has ended, by itself or
// because the hold did, and until what it had started is gone as the package comment
// says. The hold is not released. Signals are passed on to the command.
//
// The error says that the command could not be started; it matches what os.StartProcess
// returns. Run is for the one thing that a process does: it may reap every child, whoever
// started it.
func Run(c Command, hold Hold, limits Limits, signals <-chan os.Signal) (End, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	times := newSchedule(limits.Lease, limits.KillAfter)
	if why := due(hold, times); why != "" {
		return End{Why: why, AtLimit: atLimit(hold, times, bootTime())}, nil // too late to begin
	}
	startThreads()
	h, err := launch(c, hold, limits)
	if err != nil {
		return End{}, err
	}
	defer h.close()
	defer h.listen()()
	end, err := h.keep(c.Path, signals)
	if _, dead := h.lastWord(End{}); dead {
		unix.Wait4(h.pid, nil, 0, nil) // in a container there may be nobody else who would
	}
	return end, err
}

// listen subscribes to the signals of job control, and returns what undoes it.
func (h *holder) listen() (undo func()) {
	signal.Notify(h.continued, unix.SIGCONT)
	if !signal.Ignored(unix.SIGTSTP) {
		signal.Notify(h.suspended, unix.SIGTSTP)
	}
	return func() {
		signal.Stop(h.continued)
		signal.Stop(h.suspended)
	}
}

// keep tells the switch what becomes of the hold, until the command has ended.
func (h *holder) keep(path string, signals <-chan os.Signal) (End, error) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		h.look()
		h.follow()
		if h.overdue() {
			return h.stop(cmp.Or(h.stopping, OutOfTime)), nil
		}
		timer.Reset(h.untilNext())
		select {
		case <-timer.C:
		case <-h.lost:
			h.order(Lost)
		case r, alive := <-h.reports:
			switch {
			case !alive:
				return h.stop(cmp.Or(h.stopping, SwitchDied)), nil
			case r.Errno != 0:
				return End{}, &os.PathError{Op: "start", Path: path, Err: r.Errno}
			case r.End != nil:
				return h.explain(*r.End), nil
			case r.Leader != 0:
				h.tree.leader = r.Leader
			case r.Walk != 0:
				h.measured(r.Walk)
			case r.Stopping != 0:
				h.hear(r.Stopping)
			case r.Paused:
				h.suspend()
			}
		case lease := <-h.extended:
			h.extended = nil
			h.times.grow(lease, h.walk)
		case number := <-signals:
			h.tell(order{Signal: number.(unix.Signal)})
		case <-h.suspended:
			h.told = true
			h.tell(order{Signal: unix.SIGTSTP})
		case <-h.continued:
			h.tell(order{Signal: unix.SIGCONT})
		}
	}
}

// measured takes note of the size of the tree. If the lease leaves no time to stop it, the hold is to get a longer
// one. If that fails, the lease stays, and the switch measures again.
func (h *holder) measured(walk time.Duration) {
	h.walk = walk
	h.times.allow(walk)
	lease := h.times.wants(walk)
	hold, ok := h.hold.(Extender)
	if !ok || lease == h.times.lease || h.extended != nil {
		return
	}
	extended := make(chan time.Duration, 1)
	h.extended = extended
	go func() {
		if hold.Extend(context.Background(), lease) != nil {
			lease = 0
		}
		extended <- lease
	}()
}

// untilNext is for how long this process may sleep.
func (h *holder) untilNext() time.Duration {
	left := time.Until(h.limit())
	if left <= 0 {
		return h.times.tick()
	}
	return min(left, h.times.tick())
}

// limit is the moment by which the switch should have stopped the tree. It may be paused: one that
// has not even begun gets less time.
func (h *holder) limit() time.Time {
	deadline := h.hold.Deadline()
	if h.since != 0 {
		return h.times.last(deadline)
	}
	return h.times.late(deadline)
}

// look takes note of a pause of this process.
func (h *holder) look() {
	now := bootTime()
	if gap := time.Duration(now - h.looked); gap > h.times.tick()+h.times.pause() {
		h.paused += gap
		h.awake = time.Now()
	}
	h.looked = now
}

// follow tells the switch of a deadline that has moved on, and of a longer lease.
func (h *holder) follow() {
	deadline, lease := h.hold.Deadline(), h.times.lease
	moved := !deadline.Equal(h.sent)
	if (moved || lease != h.sentLease) && h.tell(order{Deadline: instantOf(deadline), Lease: lease}) {
		h.sent, h.sentLease = deadline, lease
		if moved && h.since == 0 {
			h.earlier, h.paused, h.moved = h.paused, 0, bootTime()
		}
	}
	if h.limits.Protect && h.stopping == "" && h.isCutOff(deadline) {
		h.order(OutOfTime)
	}
}

// hear takes note that the switch is stopping the tree since a moment. A deadline that has moved on
// later, when this process woke up, does not explain why.
func (h *holder) hear(since int64) {
	h.since = since
	if since < h.moved {
		h.paused = h.earlier
	}
}

// explain adds to an end what this process knows: whether the limit explains it, or for how long this process stood still.
func (h *holder) explain(end End) End {
	end.AtLimit = atLimit(h.hold, h.times, cmp.Or(h.since, bootTime()))
	if h.paused >= h.times.slack() {
		end.Paused = h.paused
	}
	return end
}

// isCutOff says that the deadline is near although this process is awake. The switch of a
// protected hold cannot tell that from a pause, in which a watchdog may renew the hold.
func (h *holder) isCutOff(deadline time.Time) bool {
	now := time.Now()
	return passed(h.times.term(deadline), now) && !passed(deadline, now) && now.Sub(h.awake) > h.times.pause()
}

// order tells the switch to stop the tree.
func (h *holder) order(why Reason) {
	h.lost = nil
	if h.stopping != "" {
		return
	}
	h.stopping = why
	h.tell(order{Stop: why})
	if why == Lost {
		h.giveUp = h.times.killLost(h.hold.Deadline(), time.Now()).Add(lateBy)
	}
}

// lateBy is how late the switch may be with what it was told to do.
const lateBy = time.Second

// overdue says that the switch should have stopped the tree by now, and has not said so. That of
// a protected hold may wait for news, as this process does.
func (h *holder) overdue() bool {
	now := time.Now()
	if h.stopping == Lost && passed(h.giveUp, now) {
		return true
	}
	return (h.stopping != "" || !h.limits.Protect) && passed(h.limit(), now)
}

// stop stops the tree without the help of the switch, which is killed first: what it has
// adopted becomes ours. What the switch had still to say about the end stands.
func (h *holder) stop(why Reason) End {
	h.since = cmp.Or(h.since, bootTime())
	end := End{Code: 128 + int(unix.SIGKILL), Signal: unix.SIGKILL, Why: why}
	unix.Kill(h.pid, unix.SIGKILL)
	hurry()
	reap := func() { h.tree.reap(0, func(int, unix.WaitStatus) {}) }
	end.Left = slices.DeleteFunc(h.tree.kill(anywhere, reap), func(pid int) bool { return pid == h.pid })
	end, _ = h.lastWord(end)
	h.terminal.recover(h.tree.leader)
	return h.explain(end)
}

// lastWord waits for the end of the switch. It returns the end that the switch has still reported, or
// else the given one.
func (h *holder) lastWord(end End) (_ End, dead bool) {
	limit := time.After(lateBy)
	for {
		select {
		case r, alive := <-h.reports:
			if !alive {
				return end, true
			}
			if r.End != nil {
				end = *r.End
			}
		case <-limit: // it is in a freezer
			return end, false
		}
	}
}

// suspend stops this process, after Ctrl-Z and with the tree. Nothing renews the hold then;
// the switch watches its deadline. It returns when the shell continues this job.
func (h *holder) suspend() {
	if !h.told {
		select {
		case <-h.suspended: // the switch has sent it to all of this job
		case <-time.After(time.Second):
		}
	}
	h.told = false
	// SIGTSTP is no use: the runtime does not give up a signal that it has once
	// listened to. SIGSTOP would stop a process that no shell can continue. SIGTTIN
	// has no effect there, and otherwise the one that is wanted.
	h.stopSelf(unix.SIGTTIN)
	h.tell(order{Signal: unix.SIGCONT})
}
