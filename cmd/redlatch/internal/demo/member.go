package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// member is a worker process, as its parent sees it.
type member struct {
	number  int
	command *exec.Cmd
	stdin   io.Closer
	stderr  tail
	// killedAt is when the parent killed it, in Unix nanoseconds; 0 if it did not.
	killedAt atomic.Int64
}

// news is what the parent hears of a member: an event, or that it has ended.
type news struct {
	member *member
	event  event
	ended  bool
	err    error // why it ended, if it should not have
}

// launch starts a worker and gives it its task. Its news go to report until it has
// ended; the last of them says so.
func launch(program []string, t task, journal *journal, report chan<- news) (*member, error) {
	m := &member{number: t.Worker, command: exec.Command(program[0], program[1:]...)}
	m.command.Stderr = &m.stderr
	m.command.SysProcAttr = apart()
	stdin, err := m.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	m.stdin = stdin
	output, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, err
	}
	m.command.Stdout = stdout

	started, ended := make(chan error), make(chan error, 1)
	go m.live(journal, started, ended)
	err = <-started
	stdout.Close() // the worker has it now
	if err != nil {
		output.Close()
		return nil, fmt.Errorf("start worker w%d: %w", m.number, err)
	}
	go m.listen(output, ended, report)
	if err := json.NewEncoder(stdin).Encode(t); err != nil {
		m.stdin.Close() // listen will report why it is dead already
	}
	return m, nil
}

// live holds on to the thread that starts the process: where the kernel kills it
// together with its parent, the parent is that thread. It waits for nothing but the
// process, so that its end is in the journal before the lock can come back, whatever
// holds up the parent's view.
func (m *member) live(journal *journal, started chan<- error, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := m.command.Start()
	started <- err
	if err != nil {
		return
	}
	err = m.command.Wait()
	at := m.killedAt.Load()
	if at == 0 {
		at = nanos(time.Now())
	} else {
		err = nil
	}
	noted := journal.add(record{Kind: gone, Worker: m.number, At: at})
	switch {
	case err != nil:
		ended <- fmt.Errorf("worker w%d (pid %d) ended: %w%s", m.number, m.pid(), err, m.stderr.quoted())
	case noted != nil:
		ended <- fmt.Errorf("write the journal: %w", noted)
	default:
		ended <- nil
	}
}

// listen passes on what the worker says, and at last that it has ended.
func (m *member) listen(output *os.File, ended <-chan error, report chan<- news) {
	defer output.Close()
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) == nil { // a killed worker's last line may be half a one
			report <- news{member: m, event: e}
		}
	}
	report <- news{member: m, ended: true, err: <-ended}
}

func (m *member) pid() int { return m.command.Process.Pid }

// name is how the view calls it.
func (m *member) name() string { return fmt.Sprintf("w%d", m.number) }

// dismiss asks the worker to leave.
func (m *member) dismiss() { m.stdin.Close() }

// kill ends the process at once.
func (m *member) kill() {
	m.killedAt.CompareAndSwap(0, nanos(time.Now()))
	_ = m.command.Process.Kill()
}

// killed is when the parent killed it.
func (m *member) killed() time.Time { return time.Unix(0, m.killedAt.Load()) }

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailBytes = 2000

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	t.text = t.text[max(len(t.text)-tailBytes, 0):]
	return len(p), nil
}

// quoted is the text as an appendix to an error.
func (t *tail) quoted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.text))
	if text == "" {
		return ""
	}
	return "; its stderr:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
}
