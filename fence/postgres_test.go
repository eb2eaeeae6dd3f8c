package fence_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// postgres is a PostgreSQL server of the test's own, on a port of the loopback
// interface, with its data in a directory of its own.
type postgres struct {
	bin      string // where its programs are
	dir      string
	port     int
	password string
	as       *syscall.SysProcAttr // it refuses to run as root
	output   bytes.Buffer
	command  *exec.Cmd
	exited   chan struct{}
}

// startPostgres runs a server until the end of the test and returns its URL.
func startPostgres(t *testing.T) string {
	t.Helper()
	p := &postgres{bin: postgresPrograms(t), password: rand.Text()}
	var err error
	p.dir, err = os.MkdirTemp("", "fence-postgres-")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(p.dir) })
	p.leaveRoot(t)
	p.initialise(t)
	// Between choosing a free port and using it, another process may take it.
	for range 5 {
		p.launch(t)
		if err = p.awaitReady(t); err == nil {
			t.Cleanup(p.stop)
			return p.url()
		}
		p.stop()
	}
	t.Fatalf("postgres: %v\n%s", err, p.output.String())
	return ""
}

// postgresPrograms finds the programs, which Debian keeps out of the PATH.
func postgresPrograms(t *testing.T) string {
	t.Helper()
	if path, err := exec.LookPath("initdb"); err == nil {
		path, err = filepath.EvalSymlinks(path)
		must(t, err)
		return filepath.Dir(path)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("install PostgreSQL (Debian: apt-get install postgresql)")
	}
	return filepath.Dir(slices.Max(found))
}

// leaveRoot has the server run as another user if this is root's process, and gives
// that user its directory.
func (p *postgres) leaveRoot(t *testing.T) {
	t.Helper()
	p.as = &syscall.SysProcAttr{}
	if os.Geteuid() != 0 {
		return
	}
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	must(t, err)
	uid, err := strconv.Atoi(who.Uid)
	must(t, err)
	gid, err := strconv.Atoi(who.Gid)
	must(t, err)
	must(t, os.Chown(p.dir, uid, gid))
	runAs(p.as, uint32(uid), uint32(gid))
}

// initialise makes an empty cluster, which asks for a password: other users of the
// machine reach the port, too.
func (p *postgres) initialise(t *testing.T) {
	t.Helper()
	secret := filepath.Join(p.dir, "password")
	must(t, os.WriteFile(secret, []byte(p.password), 0o644)) // the directory is closed to others
	initdb := exec.CommandContext(t.Context(), filepath.Join(p.bin, "initdb"), "--pgdata", p.data(), "--no-sync",
		"--username", "tester", "--auth", "scram-sha-256", "--pwfile", secret, "--encoding", "UTF8", "--locale", "C")
	initdb.Dir, initdb.SysProcAttr = p.dir, p.as
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
}

// launch starts the server as a child, not a daemon, so that its id is known.
func (p *postgres) launch(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p.port = listener.Addr().(*net.TCPAddr).Port
	must(t, listener.Close())
	p.command = exec.Command(filepath.Join(p.bin, "postgres"), "-D", p.data(), "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off",
		"-c", "shared_buffers=16MB", "-c", "max_connections=40")
	p.command.Dir, p.command.SysProcAttr = p.dir, dieWithParent(*p.as)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.exited = make(chan struct{})
	started := make(chan error)
	go p.run(started)
	must(t, <-started)
}

// run holds on to the thread that starts the process: where the kernel ends it together
// with its parent, the parent is that thread.
func (p *postgres) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.exited)
	err := p.command.Start()
	started <- err
	if err == nil {
		p.command.Wait()
	}
}

// awaitReady waits until the server lets somebody in.
func (p *postgres) awaitReady(t *testing.T) error {
	t.Helper()
	limit := time.After(30 * time.Second)
	for {
		conn, err := pgx.Connect(t.Context(), p.url())
		if err == nil {
			return conn.Close(t.Context())
		}
		select {
		case <-p.exited:
			return fmt.Errorf("it ended: %v", p.command.ProcessState)
		case <-limit:
			return fmt.Errorf("no answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server with its sessions, at once if it takes too long.
func (p *postgres) stop() {
	p.command.Process.Signal(syscall.SIGINT)
	select {
	case <-p.exited:
	case <-time.After(10 * time.Second):
		p.command.Process.Kill()
		<-p.exited
	}
}

func (p *postgres) data() string { return filepath.Join(p.dir, "data") }

func (p *postgres) url() string {
	return fmt.Sprintf("postgres://tester:%s@127.0.0.1:%d/postgres?sslmode=disable&connect_timeout=30", p.password, p.port)
}
