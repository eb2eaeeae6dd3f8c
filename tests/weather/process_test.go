package weather_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/redistest"
	"github.com/redlatch/redlatch/tests/internal/check"
	"github.com/redlatch/redlatch/tests/internal/fixture"
)

// holderEnv makes the test binary a process that takes a lock and reports what
// becomes of its hold: "URL NAME LEASE".
const holderEnv = "REDLATCH_TEST_HOLDER"

func init() { asChild(holderEnv, holdAndReport) }

// asChild makes this process do the work that a variable asks for, and ends it. Without the variable
// it does nothing.
func asChild(variable string, work func(url, name string, lease time.Duration) error) {
	spec := os.Getenv(variable)
	if spec == "" {
		return
	}
	var url, name, text string
	_, err := fmt.Sscan(spec, &url, &name, &text)
	if err == nil {
		err = work(url, name, check.Must(time.ParseDuration(text)))
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// holdAndReport prints "held OWNER", and after the end of the hold what Err and
// Valid said first, and what Unlock did.
func holdAndReport(url, name string, lease time.Duration) error {
	ctx := context.Background()
	c, err := redlatch.Open(ctx, url, fixture.Quiet(redlatch.Config{LeaseTime: lease}))
	if err != nil {
		return err
	}
	h, err := c.Mutex(name).Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Println("held", h.Owner())
	// The process is stopped in the middle of this loop, and asks again at once.
	// What counts is the first answer after a pause, before Redis can have said anything.
	for last := time.Now(); ; time.Sleep(time.Millisecond) {
		now := time.Now()
		if !h.Valid() {
			break
		}
		if now.Sub(last) > lease {
			fmt.Println("valid after a pause of", now.Sub(last))
		}
		last = now
	}
	fmt.Println("ended", errors.Is(h.Err(), redlatch.ErrLost))
	fmt.Println("unlock", errors.Is(h.Unlock(ctx), redlatch.ErrLost))
	return c.Close(ctx)
}

// holder is such a process.
type holder struct {
	*exec.Cmd
	out   io.Reader
	lines *bufio.Scanner
	owner string
}

// startHolder starts one and waits until it holds the lock.
func startHolder(t *testing.T, url, name string, lease time.Duration) *holder {
	t.Helper()
	h := startProcess(t, holderEnv, url, name, lease)
	h.owner = strings.TrimPrefix(h.line(t), "held ")
	return h
}

// startProcess starts one that a variable tells what to do.
func startProcess(t *testing.T, variable, url, name string, lease time.Duration) *holder {
	t.Helper()
	cmd := fixture.Child(t, fmt.Sprintf("%s=%s %s %s", variable, url, name, lease))
	out := check.Must(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	})
	return &holder{Cmd: cmd, out: out, lines: bufio.NewScanner(out)}
}

func (h *holder) line(t *testing.T) string {
	t.Helper()
	if !h.lines.Scan() {
		t.Fatal("the holder process ended:", h.lines.Err())
	}
	return h.lines.Text()
}

// signal signals the process and waits until the kernel has acted on it.
func (h *holder) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := h.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	if s == redistest.SIGSTOP {
		if err := redistest.AwaitStopped(h.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheLockOfAKilledProcessFreesWithItsLease(t *testing.T) {
	t.Parallel()
	url, name := redistest.Shared(t).URL(), redistest.Name(t)
	c := fixture.Open(t, url, redlatch.Config{PollCap: time.Hour})
	dead := startHolder(t, url, name, 3*time.Second)
	dead.signal(t, syscall.SIGKILL)
	asked := time.Now() // the TTL is that of a moment between this one and the next
	status := check.Must(c.Mutex(name).Status(t.Context()))
	answered := time.Now()
	if len(status.Holders) != 1 || status.Holders[0].Owner != dead.owner {
		t.Fatalf("status is %+v, want the dead holder %s", status, dead.owner)
	}
	h, err := c.Mutex(name).Lock(t.Context(), redlatch.WithWait(20*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	entered := time.Now()
	if early := status.TTL - entered.Sub(asked); early > 5*time.Millisecond {
		t.Errorf("the next one entered %v before the lease had ended", early)
	}
	if late := entered.Sub(answered) - status.TTL; late > 20*time.Millisecond+fixture.Slack {
		t.Errorf("the next one entered %v after the lease had ended", late)
	}
	_ = h.Unlock(t.Context())
}

func TestAPausedProcessLearnsOfItsLossBeforeItCanAct(t *testing.T) {
	t.Parallel()
	url, name := redistest.Shared(t).URL(), redistest.Name(t)
	c := fixture.Open(t, url, redlatch.Config{})
	paused := startHolder(t, url, name, 3*time.Second)
	paused.signal(t, redistest.SIGSTOP)
	rival, err := c.Mutex(name).Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paused.signal(t, redistest.SIGCONT)
	if got := paused.line(t); got != "ended true" {
		t.Errorf("the paused holder says %q, want \"ended true\"", got)
	}
	if got := paused.line(t); got != "unlock true" {
		t.Errorf("the paused holder says %q, want \"unlock true\"", got)
	}
	if err := rival.Unlock(t.Context()); err != nil {
		t.Error("the paused holder disturbed the rival:", err)
	}
}
