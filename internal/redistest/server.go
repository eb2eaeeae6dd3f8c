package redistest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startWithin bounds the start of a server.
const startWithin = 20 * time.Second

// Server is a process of Program on a port of the loopback interface. It
// keeps nothing on disk.
type Server struct {
	port   int
	args   []string
	dir    string
	frozen bool
	// sentinel says that it is a sentinel, which has to have a file to keep things in.
	sentinel bool
	// process is the running one, nil while there is none. The fields of a
	// Server are for one goroutine at a time, as is usual in tests.
	process *process
}

// process is one life of a server.
type process struct {
	command *exec.Cmd
	output  bytes.Buffer // of the process; read it after exited is closed
	exited  chan struct{}
}

// Program is the server that tests run: redis-server, or what the environment variable
// REDLATCH_SERVER names, such as valkey-server.
func Program() string { return cmp.Or(os.Getenv("REDLATCH_SERVER"), "redis-server") }

// Start runs a server until the end of the test. The arguments are
// appended to those of its command line, such as "--requirepass", "secret".
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	return (&Server{args: args}).begin(t)
}

// Open is Start until Close, for a program.
func Open(args ...string) (*Server, error) {
	s := &Server{args: args}
	return s, s.start()
}

// begin runs a server until the end of the test.
func (s *Server) begin(t testing.TB) *Server {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// start runs the server for the first time. Nothing is left behind when it fails.
func (s *Server) start() error {
	if _, err := exec.LookPath(Program()); err != nil {
		return fmt.Errorf("install %[1]s (Debian: apt-get install %[1]s)", Program())
	}
	var err error
	if s.port, err = FreePort(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "redistest-"); err != nil {
		return err
	}
	if err = s.launch(); err != nil {
		s.Close()
	}
	return err
}

// launch starts the process and waits until it serves.
func (s *Server) launch() error {
	p := &process{exited: make(chan struct{})}
	args, err := s.commandLine()
	if err != nil {
		return err
	}
	p.command = exec.Command(Program(), args...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.SysProcAttr = dieWithParent()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start redis-server: %w", err)
	}
	s.process = p
	if err := s.awaitReady(p); err != nil {
		s.Kill()
		return fmt.Errorf("start redis-server: %w\n%s", err, p.output.String())
	}
	return nil
}

// commandLine is what redis-server is told.
func (s *Server) commandLine() ([]string, error) {
	args := []string{
		"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir,
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}
	if s.sentinel {
		memory := filepath.Join(s.dir, "sentinel.conf")
		file, err := os.OpenFile(memory, os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		file.Close()
		args = append([]string{memory, "--sentinel"}, args...)
	}
	return append(args, s.args...), nil
}

// run holds on to the thread that starts the process: where the kernel kills
// it together with its parent, the parent is that thread.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.command.Start()
	started <- err
	if err == nil {
		p.command.Wait()
	}
	close(p.exited)
}

// awaitReady waits until the server answers, whatever it says.
func (s *Server) awaitReady(p *process) error {
	limit := time.After(startWithin)
	for {
		if _, err := roundTrip(s.Addr(), "PING"); err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended: %v", p.command.ProcessState)
		case <-limit:
			return fmt.Errorf("no answer within %v", startWithin)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Addr is the server's host:port.
func (s *Server) Addr() string { return local(s.port) }

// URL is the server's redis:// URL.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Freeze stops the process as SIGSTOP does: it answers nothing, while the
// kernel keeps its connections open and accepts new ones.
func (s *Server) Freeze() {
	s.frozen = true
	s.signal(SIGSTOP)
}

// Thaw lets a frozen process go on.
func (s *Server) Thaw() {
	s.frozen = false
	s.signal(SIGCONT)
}

// Kill ends the process at once, and with it all data. It returns when the
// process is gone.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	s.signal(syscall.SIGKILL)
	<-s.process.exited
	s.process, s.frozen = nil, false
}

// Restart starts the server anew, empty, on its old port.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	if err := s.launch(); err != nil {
		t.Fatal(err)
	}
}

// signal signals the process, which cannot have been waited for as long as
// exited is open; its id is thus still its own.
func (s *Server) signal(number syscall.Signal) {
	if s.process == nil {
		return
	}
	select {
	case <-s.process.exited:
	default:
		s.process.command.Process.Signal(number)
	}
}

// Close ends the server for good. A frozen process dies of SIGKILL, too.
func (s *Server) Close() {
	s.Kill()
	os.RemoveAll(s.dir)
}
