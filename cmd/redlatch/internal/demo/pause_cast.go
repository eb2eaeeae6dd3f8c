package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// cast are the processes of the story: actors, and the watchdog.
type cast struct {
	verbs   Verbs
	cues    chan cue
	players []*player
}

// cue is what the parent hears of a process.
type cue struct {
	player *player
	says   says
	err    error // why it ended, if it should not have
}

// take notes what a process says of itself. The error is why it has ended.
func (c cue) take() error {
	c.player.state, c.player.watchdogs = c.says.State, c.says.Watchdogs
	return c.err
}

// player is a process.
type player struct {
	name      string
	state     actorState
	watchdogs int

	command *exec.Cmd
	stdin   io.WriteCloser
	stderr  tail
	leaving sync.Once
	sent    chan struct{} // closed when it was told to leave
	ended   chan struct{} // closed when it is gone
}

func newCast(verbs Verbs) *cast { return &cast{verbs: verbs, cues: make(chan cue, 64)} }

// add starts an actor.
func (c *cast) add(p *player, task part) error {
	if err := c.start(p, nil, c.verbs.Actor); err != nil {
		return err
	}
	return json.NewEncoder(p.stdin).Encode(task)
}

// watch starts the watchdog. It finds the URL in its environment, as it may hold a password.
func (c *cast) watch(url string) error {
	return c.start(&player{name: "watchdog"}, []string{"REDLATCH_REDIS=" + url}, c.verbs.Watchdog, "--listen", "")
}

// start starts this program again.
func (c *cast) start(p *player, env []string, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program to start it again: %w", err)
	}
	p.sent, p.ended = make(chan struct{}), make(chan struct{})
	p.command = exec.Command(program, args...)
	p.command.Env = append(os.Environ(), env...)
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = apart()
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return err
	}
	output, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	started := make(chan error)
	go p.live(output, started, c.cues)
	if err := <-started; err != nil {
		return fmt.Errorf("start the %s: %w", p.name, err)
	}
	c.players = append(c.players, p)
	return nil
}

// live holds on to the thread that starts the process, as member.live does, and passes on
// what the process says until it has ended.
func (p *player) live(output io.Reader, started chan<- error, cues chan<- cue) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err != nil {
		return
	}
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var said says
		if json.Unmarshal(lines.Bytes(), &said) == nil {
			cues <- cue{player: p, says: said}
		}
	}
	_ = p.command.Wait()
	defer close(p.ended) // after the last cue: end waits for both
	select {
	case <-p.sent: // that it ends is in order
		err = nil
	default:
		err = fmt.Errorf("the %s (pid %d) ended: %v%s", p.name, p.pid(), p.command.ProcessState, p.stderr.quoted())
	}
	cues <- cue{player: p, says: says{State: isGone}, err: err}
}

func (p *player) pid() int { return p.command.Process.Pid }

// dismiss asks a process to leave.
func (p *player) dismiss() {
	p.leaving.Do(func() {
		close(p.sent)
		p.stdin.Close()
		_ = p.resume() // a stopped process cannot leave
		if p.state == "" {
			_ = p.command.Process.Signal(syscall.SIGTERM) // the watchdog has no part
		}
	})
}

// end asks all to leave, kills who does not, and returns when all are gone.
func (c *cast) end() {
	for _, p := range c.players {
		p.dismiss()
	}
	limit := time.NewTimer(leaveWithin)
	defer limit.Stop()
	for _, p := range c.players {
		for gone := false; !gone; {
			select {
			case <-p.ended:
				gone = true
			case <-c.cues: // nobody is interested any more
			case <-limit.C:
				for _, p := range c.players {
					_ = p.command.Process.Kill()
				}
			}
		}
	}
}

// leaveWithin bounds the time that processes take to give back what they hold and leave.
const leaveWithin = 5 * time.Second
