//go:build unix

package supervise

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// Run reaps every child of its process, so each test has it in a process of its own: the
// test binary, with asSupervisor in its environment. There the hold is in the hands of
// the test.
const asSupervisor = "REDLATCH_TEST_SUPERVISOR"

func TestMain(m *testing.M) {
	if text := os.Getenv(asSupervisor); text != "" {
		os.Unsetenv(asSupervisor)
		os.Exit(superviseAsTold(text))
	}
	goleak.VerifyTestMain(m)
}

// The files that a supervisor has besides the usual ones.
const (
	ordersFile   = 3          // lines: "deadline 500ms", counted from now; "lease 1s", and "renew 1s", or for as long as Extend asks for; "lost"
	reportFile   = 4          // its End, as JSON
	deadlineFile = "deadline" // in its folder: the last one
)

func superviseAsTold(text string) int {
	var limits Limits
	if err := json.Unmarshal([]byte(text), &limits); err != nil {
		panic(err)
	}
	hold := &toldHold{deadline: time.Now().Add(time.Hour), done: make(chan struct{})}
	syscall.CloseOnExec(ordersFile)
	syscall.CloseOnExec(reportFile)
	go hold.obey(os.NewFile(ordersFile, "orders"))
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, Signals...)
	path, err := exec.LookPath(os.Args[1])
	if err != nil {
		panic(err)
	}
	end, err := Run(Command{Path: path, Args: os.Args[1:], Env: os.Environ()}, hold, limits, signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 126
	}
	json.NewEncoder(os.NewFile(reportFile, "report")).Encode(end)
	return end.Code
}

// toldHold is a hold that the test moves on and ends.
type toldHold struct {
	mu       sync.Mutex
	deadline time.Time
	span     time.Duration // of a renewal; 0: it is not renewed
	done     chan struct{}
}

func (h *toldHold) Deadline() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deadline
}

func (h *toldHold) Done() <-chan struct{} { return h.done }

// Extend is for a hold that the test renews.
func (h *toldHold) Extend(_ context.Context, lease time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.span == 0 {
		return errors.New("it is not renewed")
	}
	h.span = max(h.span, lease-lease/100)
	if time.Until(h.deadline) < h.span {
		h.move(h.span)
	}
	return nil
}

// move moves the deadline, and writes it down for the test. The mutex is held.
func (h *toldHold) move(d time.Duration) {
	h.deadline = time.Now().Add(d)
	text := strconv.AppendInt(nil, h.deadline.UnixNano(), 10)
	redistest.Must(0, os.WriteFile(deadlineFile+".new", text, 0o600))
	redistest.Must(0, os.Rename(deadlineFile+".new", deadlineFile)) // the test may stop this process at any moment
}

func (h *toldHold) obey(orders *os.File) {
	for lines := bufio.NewScanner(orders); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		if word == "lost" {
			close(h.done)
			continue
		}
		d, err := time.ParseDuration(rest)
		if err != nil {
			panic(err)
		}
		h.mu.Lock()
		if word != "deadline" {
			h.span = max(h.span, d)
			d = h.span
		}
		if word != "lease" {
			h.move(d)
		}
		h.mu.Unlock()
	}
}

// supervised is a running supervisor with its command.
type supervised struct {
	t       *testing.T
	command *exec.Cmd
	tree    *proctest.Tree
	orders  *os.File
	report  *os.File
	exited  chan struct{}
}

// newSupervised prepares one for a shell script. The words before it, if any, start the
// supervisor: they are followed by its command line.
func newSupervised(t *testing.T, limits Limits, script string, launcher ...string) *supervised {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ordersOut, ordersIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reportOut, reportIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(limits)
	if err != nil {
		t.Fatal(err)
	}
	s := &supervised{t: t, tree: proctest.NewTree(t), orders: ordersIn, report: reportOut, exited: make(chan struct{})}
	line := append(launcher, self, "sh", "-c", `exec 9>"$TREE"; `+script)
	s.command = exec.Command(line[0], line[1:]...)
	s.command.Dir = t.TempDir() // for core dumps
	s.command.Env = append(os.Environ(), s.tree.Env(), asSupervisor+"="+string(text), "GORACE=atexit_sleep_ms=0")
	s.command.ExtraFiles = []*os.File{ordersOut, reportIn}
	t.Cleanup(func() {
		for _, f := range []*os.File{ordersIn, ordersOut, reportIn, reportOut} {
			f.Close()
		}
	})
	return s
}

// supervise starts one.
func supervise(t *testing.T, limits Limits, script string, launcher ...string) *supervised {
	t.Helper()
	s := newSupervised(t, limits, script, launcher...)
	// A file, because a pipe would last as long as whoever is left behind.
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	s.command.Stderr = stderr
	t.Cleanup(func() {
		if text, _ := os.ReadFile(stderr.Name()); t.Failed() {
			t.Logf("stderr: %s", text)
		}
	})
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	s.started()
	return s
}

// started waits for the end of the supervisor in the background.
func (s *supervised) started() {
	for _, f := range s.command.ExtraFiles {
		f.Close()
	}
	go func() {
		defer close(s.exited)
		s.command.Wait()
	}()
	s.t.Cleanup(func() { s.command.Process.Kill(); <-s.exited })
}

// tell gives an order, and returns the moment before.
func (s *supervised) tell(order string) time.Time {
	s.t.Helper()
	now := time.Now()
	if _, err := fmt.Fprintln(s.orders, order); err != nil {
		s.t.Fatal(err)
	}
	return now
}

// deadline waits until the supervisor was told a deadline, and returns the last.
func (s *supervised) deadline() time.Time {
	s.t.Helper()
	var text []byte
	redistest.Eventually(s.t, 10*time.Second, func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(s.command.Dir, deadlineFile))
		return err == nil
	}, "a deadline is written down")
	nanos, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return time.Unix(0, nanos)
}

// end waits for the end and returns what was reported.
func (s *supervised) end() End {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(20 * time.Second):
		s.t.Fatal("the supervisor does not end")
	}
	var end End
	if err := json.NewDecoder(s.report).Decode(&end); err != nil {
		s.t.Fatalf("it ended without a report: %v", s.command.ProcessState)
	}
	return end
}

// want checks an end, but for the numbers of processes.
func (s *supervised) want(want End) {
	s.t.Helper()
	if got := s.end(); got.Code != want.Code || got.Why != want.Why || got.LeftBehind != want.LeftBehind || len(got.Left) != 0 {
		s.t.Errorf("the end is %+v, want %+v", got, want)
	}
}
