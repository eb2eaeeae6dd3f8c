package databases_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// dbServer is a database server of the test's own, on a port of the loopback interface, with its
// data in a directory of its own.
type dbServer struct {
	program  dbProgram
	dir      string
	port     int
	password string
	as       *syscall.SysProcAttr // PostgreSQL refuses to run as root
	output   bytes.Buffer
	command  *exec.Cmd
	exited   chan struct{}
}

// dbProgram is what two database servers do in different ways.
type dbProgram struct {
	name, driver string
	account      string // what it runs as if this is root's process
	initialise   func(t *testing.T, s *dbServer)
	launch       func(t *testing.T, s *dbServer) []string // the words of its command
	stop         syscall.Signal
	url          func(s *dbServer) string
}

// start runs a server until the end of the test and returns its URL.
func (p dbProgram) start(t *testing.T) string {
	t.Helper()
	s := &dbServer{program: p, password: rand.Text()}
	var err error
	s.dir, err = os.MkdirTemp("", "fence-"+p.name+"-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(s.dir) })
	s.leaveRoot(t)
	p.initialise(t, s)
	// Between choosing a free port and using it, another process may take it.
	for range 5 {
		s.launch(t)
		if err = s.awaitReady(t); err == nil {
			t.Cleanup(s.stop)
			return p.url(s)
		}
		s.stop()
	}
	t.Fatalf("%s: %v\n%s", p.name, err, s.output.String())
	return ""
}

// leaveRoot has the server run as another user if this is root's process, and gives
// that user its directory.
func (s *dbServer) leaveRoot(t *testing.T) {
	t.Helper()
	s.as = &syscall.SysProcAttr{}
	if os.Geteuid() != 0 {
		return
	}
	who, err := user.Lookup(s.program.account)
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	must(t, err)
	uid, err := strconv.Atoi(who.Uid)
	must(t, err)
	gid, err := strconv.Atoi(who.Gid)
	must(t, err)
	must(t, os.Chown(s.dir, uid, gid))
	runAs(s.as, uint32(uid), uint32(gid))
}

// run runs a program to its end, as the server would.
func (s *dbServer) run(t *testing.T, program string, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Dir, command.SysProcAttr = s.dir, s.as
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// launch starts the server as a child, not a daemon, so that its id is known.
func (s *dbServer) launch(t *testing.T) {
	t.Helper()
	var err error
	s.port, err = redistest.FreePort()
	must(t, err)
	words := s.program.launch(t, s)
	s.command = exec.Command(words[0], words[1:]...)
	s.command.Dir, s.command.SysProcAttr = s.dir, dieWithParent(*s.as)
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	s.exited = make(chan struct{})
	started := make(chan error)
	go s.attend(started)
	must(t, <-started)
}

// attend holds on to the thread that starts the process: where the kernel ends it together
// with its parent, the parent is that thread.
func (s *dbServer) attend(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.exited)
	err := s.command.Start()
	started <- err
	if err == nil {
		s.command.Wait()
	}
}

// awaitReady waits until the server lets somebody in.
func (s *dbServer) awaitReady(t *testing.T) error {
	t.Helper()
	db, err := sql.Open(s.program.driver, s.program.url(s))
	must(t, err)
	defer db.Close()
	limit := time.After(30 * time.Second)
	for {
		err := db.PingContext(t.Context())
		if err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("it ended: %v", s.command.ProcessState)
		case <-limit:
			return fmt.Errorf("no answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server with its sessions, at once if it takes too long.
func (s *dbServer) stop() {
	s.command.Process.Signal(s.program.stop)
	select {
	case <-s.exited:
	case <-time.After(10 * time.Second):
		s.command.Process.Kill()
		<-s.exited
	}
}
