package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// process is the service as a process of its own.
type process struct {
	*app
	command *exec.Cmd
	exited  chan struct{}
}

// launch starts the command with these flags; whether it serves is up to them.
func launch(t *testing.T, flags ...string) (p *process, stdout io.Reader) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p = &process{app: newApp(t), command: exec.Command(self, flags...), exited: make(chan struct{})}
	// The race detector would have the process sleep for a second at its end.
	p.command.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0")
	lines, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.command.Stdout, p.command.Stderr = in, p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		defer close(p.exited)
		_ = p.command.Wait()
	}()
	t.Cleanup(func() { _ = p.command.Process.Kill(); <-p.exited; lines.Close() })
	return p, lines
}

// serving starts the command and waits until it serves.
func serving(t *testing.T, flags ...string) *process {
	t.Helper()
	p, stdout := launch(t, append(flags, "--listen", "127.0.0.1:0")...)
	p.meet(stdout)
	return p
}

func (p *process) signal(number os.Signal) {
	p.Helper()
	if err := p.command.Process.Signal(number); err != nil {
		p.Error(err)
	}
}

// end waits until the process has ended, and returns its exit code, -1 for a signal.
func (p *process) end(within time.Duration) int {
	p.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		p.Fatalf("it does not end within %v:\n%s", within, p.log)
	}
	return p.command.ProcessState.ExitCode()
}

// Goal: a signal ends the service cleanly. Method: when it comes, one request works
// under a lock, one waits for it, and one works with a lease of its own.
func TestASignalReleasesEveryLock(t *testing.T) {
	t.Parallel()
	for _, number := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(number.String(), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := serving(t, "--redis", server.URL(), "--work", "1m", "--lease", "1m")
			working := p.begin("GET", pathLock+"test")
			p.awaitOwner("test")
			waiting := p.begin("GET", pathLock+"test")
			awaitWaiter(t, server, "test")
			leased := p.begin("GET", pathTryLock+"other")
			p.awaitOwner("other")

			p.signal(number)
			for what, later := range map[string]<-chan answer{"the work": working, "the wait": waiting, "the leased work": leased} {
				(<-later).is(t, what, 503, "stopping")
			}
			if code := p.end(20 * time.Second); code != 0 {
				t.Errorf("exit code %d:\n%s", code, p.log)
			}
			if keys := server.Keys(t, "*"); len(keys) > 0 {
				t.Errorf("keys are left over: %q", keys)
			}
		})
	}
}

// The release cannot be answered. It ends nevertheless, and the client gets an error.
func TestASignalEndsTheServiceAlsoWhenRedisIsFrozen(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serving(t, "--redis", server.URL(), "--work", "1m")
	working := p.begin("GET", pathLock+"test")
	p.awaitOwner("test")
	server.Freeze()
	p.signal(syscall.SIGTERM)
	(<-working).is(t, "the work", 503, "unknown")
	p.end(2*stopWithin + 10*time.Second)
}

// Clients open connections in advance. The server would wait for them for 5 s.
func TestAConnectionThatIsNeverUsedHoldsUpNothing(t *testing.T) {
	t.Parallel()
	p := serving(t)
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	p.status("test") // by now the server has accepted it
	p.signal(syscall.SIGTERM)
	if code := p.end(askWithin + 2*time.Second); code != 0 {
		t.Errorf("exit code %d:\n%s", code, p.log)
	}
}

func TestASecondSignalEndsTheServiceAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := serving(t, "--redis", server.URL(), "--work", "1m")
	working := p.begin("GET", pathLock+"test")
	p.awaitOwner("test")
	server.Freeze() // so that the first one takes its time
	p.signal(syscall.SIGTERM)
	redistest.Eventually(t, 10*time.Second, func() bool {
		conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
		if err == nil {
			conn.Close()
		}
		return err != nil
	}, "it no longer listens")
	select {
	case <-p.exited:
		t.Error("the first signal was enough")
	default:
	}
	// The second may arrive while the first is still being dealt with.
	redistest.Eventually(t, 10*time.Second, func() bool {
		_ = p.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
			return true
		default:
			return false
		}
	}, "it has ended")
	if status := p.command.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Errorf("it ended by itself, with %v", status)
	}
	<-working
}

func TestExitCodesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags string
		code  int
		say   string
	}{
		{"-h", 0, "lease of try-lock"},
		{"--lease 1ms", 2, "--lease 1ms: at least 10ms"},
		{"--watchdog 0", 2, "--watchdog 0s: at least 10ms"},
		{"--work -1s", 2, "--work -1s: at least 0s"},
		{"--wait soon", 2, "invalid value"},
		{"--no-lock", 2, "not defined: -no-lock"},
		{"now", 2, `"now" is no flag`},
		{"--redis http://127.0.0.1", 1, "--redis: the URL is none of"},
		{"--redis redis://me:secret@127.0.0.1:x", 1, "--redis: the URL is none of"},
		{"--redis redis://me:secret@127.0.0.1:1", 1, "connection refused"},
		{"--listen 127.0.0.1:99999", 1, "invalid port"},
	} {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			p, _ := launch(t, strings.Fields(c.flags)...)
			if code := p.end(20 * time.Second); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			said := p.log.String()
			if !strings.Contains(said, c.say) {
				t.Errorf("it said %q, want %q in it", said, c.say)
			}
			if strings.Contains(said, "secret") {
				t.Errorf("it tells the password: %s", said)
			}
		})
	}
}

func TestTheAddressIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"redis://me:secret@host:1/2": "redis://host:1/2",
		"rediss://host":              "rediss://host",
		"memory://":                  "memory://",
		"memory://%zz":               "memory://",
	} {
		if got := withoutSecrets(address); got != want {
			t.Errorf("%s is shown as %s, want %s", address, got, want)
		}
	}
}

// Goal: a service whose port is taken leaves nothing behind, and says so.
func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s, err := readSettings([]string{"--listen", listener.Addr().String()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), s, io.Discard, io.Discard); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("it ended with %v", err)
	}
}
