package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
)

// processes are the actors that live.
type processes struct {
	program  []string
	stdout   *os.File      // what all of them write to
	events   chan event    // what they have written; closed after stdout
	patience time.Duration // how long they may take to leave
	all      []*process    // by their numbers, which begin with 1
	living   int
}

// process is an actor, as its parent sees it.
type process struct {
	number  int
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  strings.Builder

	state     kind      // its last event
	since     time.Time // when it began to wait or entered
	client    string    // the first half of its owners
	watchdogs int       // that it knows of
	visit     int       // counts its entries
	done      int       // increments
	stays     bool      // inside, because it was told to
	replaces  *process  // that was killed in its place, or nil

	dismissed context.Context // ended by dismiss
	dismiss   func()          // asks it to leave
	killedAt  atomic.Int64    // when the parent killed it, in Unix nanoseconds; 0 if it did not
}

func newProcesses(program ...string) (*processes, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Actors bound their own releases: the patience ends only if something is stuck.
	ps := &processes{program: program, stdout: in, events: make(chan event, 256), patience: 8 * time.Second}
	go func() {
		defer out.Close()
		defer close(ps.events)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) == nil {
				ps.events <- e
			}
		}
	}()
	return ps, nil
}

// start starts an actor and gives it its task.
func (ps *processes) start(t task) (p *process, err error) {
	t.Number = len(ps.all) + 1
	p = &process{number: t.Number, state: starting, since: time.Now()}
	p.dismissed, p.dismiss = context.WithCancel(context.Background())
	started := make(chan error)
	go p.live(ps, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start worker %v: %w", p, err)
	}
	ps.all = append(ps.all, p)
	ps.living++
	p.tell(t)
	return p, nil
}

// live holds on to the thread that starts the process: the kernel takes the end of this
// thread for the end of the parent. It waits for nothing but the process, so that its end is
// told before the lock can come back. A process that a signal to the whole group has ended too early is started again:
// the parent got the signal as well, and dismisses it.
func (p *process) live(ps *processes, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.begin(ps)
	for err == nil && p.stillborn() {
		_ = p.command.Wait()
		err = p.begin(ps)
	}
	started <- err
	if err != nil {
		return
	}
	err = p.command.Wait()
	end := event{Kind: gone, Number: p.number, At: p.killedAt.Load()}
	if end.At == 0 {
		end.At, end.Error = time.Now().UnixNano(), p.failure(err)
	}
	_ = json.NewEncoder(ps.stdout).Encode(end) // the pipe is open until all ends are heard
}

// begin starts the process.
func (p *process) begin(ps *processes) (err error) {
	p.command = exec.CommandContext(p.dismissed, ps.program[0], ps.program[1:]...)
	p.command.Cancel, p.command.WaitDelay = p.leave, ps.patience
	p.command.Stdout, p.command.Stderr, p.command.SysProcAttr = ps.stdout, &p.stderr, apart()
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return err
	}
	return p.command.Start()
}

// failure says why the process ended without having been killed by its parent, or "" if it
// was to end.
func (p *process) failure(err error) string {
	switch left := p.dismissed.Err() != nil; {
	case left && fmt.Sprint(err) == "signal: killed":
		err = fmt.Errorf("did not leave within %v: %w", p.command.WaitDelay, err)
	case left && (err == nil || p.command.ProcessState.ExitCode() < 0):
		return "" // a signal to the whole group, such as Ctrl-C, may end it first
	case err == nil:
		err = errors.New("before its time")
	}
	text := fmt.Sprintf("worker %v (pid %d) ended: %v", p, p.pid(), err)
	if stderr := strings.TrimSpace(p.stderr.String()); stderr != "" {
		// A pipe takes 4096 bytes in one piece, and JSON makes up to six of one.
		stderr = stderr[max(len(stderr)-600, 0):]
		text += "; its stderr:\n  " + strings.ReplaceAll(stderr, "\n", "\n  ")
	}
	return text
}

// heard takes note of an event, and returns the actor that it is of. The error is why that
// ended, if it should not have.
func (ps *processes) heard(e event) (p *process, err error) {
	p = ps.all[e.Number-1]
	p.state = e.Kind
	p.watchdogs = max(p.watchdogs, e.Watchdogs)
	switch e.Kind {
	case waiting:
		p.since, p.client = time.Unix(0, e.At), e.Client
	case enter:
		p.since, p.visit, p.stays = time.Unix(0, e.At), e.Visit, false
	case leave:
		p.done++
	case gone:
		ps.living--
	}
	if e.Error != "" {
		err = errors.New(e.Error)
	}
	return p, err
}

// end asks all actors to leave, and returns when none is left. The error tells of those that
// failed or had to be killed. Hear is told all events, and may have started another actor.
func (ps *processes) end(hear func(event) error) (err error) {
	for ps.dismiss(); ps.living > 0; ps.dismiss() {
		err = errors.Join(err, hear(<-ps.events))
	}
	return err
}

func (ps *processes) dismiss() {
	for _, p := range ps.all {
		p.dismiss()
	}
}

func (p *process) pid() int { return p.command.Process.Pid }

func (p *process) String() string { return fmt.Sprintf("w%d", p.number) }

// owns says whether an owner in Redis is of this process.
func (p *process) owns(owner string) bool {
	return p.client != "" && strings.HasPrefix(owner, p.client+":")
}

// tell writes a line to the actor's stdin. If it is dead, its end will be told.
func (p *process) tell(line any) { _ = json.NewEncoder(p.stdin).Encode(line) }

// leaveAfter ends the present visit of the actor later.
func (p *process) leaveAfter(stay time.Duration) {
	visit := p.visit
	time.AfterFunc(stay, func() { p.tell(visit) })
}

// leave ends the actor's stdin. If it does not leave then, it is killed after the WaitDelay.
func (p *process) leave() error {
	p.stdin.Close()
	_ = p.resume()           // a stopped process cannot leave
	return os.ErrProcessDone // an exit code of 0 is no error
}

// killed is when the parent killed the process.
func (p *process) killed() time.Time { return time.Unix(0, p.killedAt.Load()) }

// kill ends the process at once.
func (p *process) kill() {
	p.killedAt.CompareAndSwap(0, time.Now().UnixNano())
	_ = p.command.Process.Kill()
}
