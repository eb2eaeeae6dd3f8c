package demo

import (
	"bufio"
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

// process is an actor, as its parent sees it.
type process struct {
	name    string // in errors
	number  int
	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  strings.Builder
	state   kind // what the story last heard of it

	dismissed atomic.Bool
	killedAt  atomic.Int64  // when the parent killed it, in Unix nanoseconds; 0 if it did not
	ended     chan struct{} // closed when it is gone; then err is set
	err       error         // why it ended, if it should not have
}

// processes are the actors that live.
type processes struct {
	program  []string
	stdout   *os.File      // what all of them write to
	events   chan event    // what they have written; closed after close
	patience time.Duration // how long they may take to leave
	living   map[int]*process
	last     int // the number given last
}

func newProcesses(program ...string) (*processes, error) {
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	// Actors bound their own releases: the patience ends only where something is stuck.
	ps := &processes{program: program, stdout: in, events: make(chan event, 256), patience: 8 * time.Second, living: make(map[int]*process)}
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
func (ps *processes) start(name string, t task) (*process, error) {
	ps.last++
	t.Number = ps.last
	p := &process{name: name, number: t.Number, state: starting, command: exec.Command(ps.program[0], ps.program[1:]...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr, p.command.SysProcAttr = ps.stdout, &p.stderr, apart()
	stdin, err := p.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	started := make(chan error)
	go p.live(started, ps.stdout)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	ps.living[p.number] = p
	p.tell(t)
	return p, nil
}

// live holds on to the thread that starts the process: where the kernel kills it
// together with its parent, the parent is that thread. It waits for nothing but the
// process, so that its end is told before the lock can come back.
func (p *process) live(started chan<- error, events io.Writer) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err != nil {
		return
	}
	err = p.command.Wait()
	end := event{Kind: gone, Number: p.number, At: p.killedAt.Load()}
	if end.At == 0 {
		end.At = time.Now().UnixNano()
		p.err = p.failure(err)
	}
	close(p.ended)
	_ = json.NewEncoder(events).Encode(end) // the pipe is open until all ends are heard
}

// failure says why the process ended without having been killed by its parent, if it
// should not have.
func (p *process) failure(err error) error {
	stderr := strings.TrimSpace(p.stderr.String())
	if stderr != "" {
		stderr = stderr[max(len(stderr)-2000, 0):]
		stderr = "; its stderr:\n  " + strings.ReplaceAll(stderr, "\n", "\n  ")
	}
	switch {
	case err != nil:
		return fmt.Errorf("%v ended: %w%s", p, err, stderr)
	case !p.dismissed.Load():
		return fmt.Errorf("%v left before its time%s", p, stderr)
	}
	return nil
}

// heard returns the actor that an event is of, and takes one that is gone off the list.
// The error is why it ended, if it should not have.
func (ps *processes) heard(e event) (*process, error) {
	p := ps.living[e.Number]
	if e.Kind != gone {
		return p, nil
	}
	delete(ps.living, e.Number)
	<-p.ended
	return p, p.err
}

// end asks all actors to leave, kills those that do not, and returns when none is left.
// The error tells of those that failed. Hear is told all events.
func (ps *processes) end(hear func(event) error) error {
	for _, p := range ps.living {
		p.dismiss()
	}
	limit := time.NewTimer(ps.patience)
	defer limit.Stop()
	var failures []error
	for len(ps.living) > 0 {
		select {
		case e := <-ps.events:
			failures = append(failures, hear(e))
		case <-limit.C:
			for _, p := range ps.living {
				failures = append(failures, fmt.Errorf("%v did not leave within %v and was killed", p, ps.patience))
				p.kill()
			}
		}
	}
	return errors.Join(failures...)
}

func (p *process) pid() int { return p.command.Process.Pid }

func (p *process) String() string { return fmt.Sprintf("%s (pid %d)", p.name, p.pid()) }

// tell writes a line to the actor's stdin. If it is dead, its end will be told.
func (p *process) tell(line any) { _ = json.NewEncoder(p.stdin).Encode(line) }

// dismiss asks the actor to leave.
func (p *process) dismiss() {
	p.dismissed.Store(true)
	p.stdin.Close()
	_ = p.resume() // a stopped process cannot leave
}

// kill ends the process at once.
func (p *process) kill() {
	p.killedAt.CompareAndSwap(0, time.Now().UnixNano())
	_ = p.command.Process.Kill()
}
