//go:build unix

package proctest

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Kin are processes that hold a named pipe open, whoever started them: the pipe ends at
// the moment when the last of them is gone. What they write into it is what they say.
type Kin struct {
	t    testing.TB
	Path string        // of the pipe, which a shell script opens with exec 9>"$KIN"
	Gone chan struct{} // closed when the last is gone; then At is set
	At   time.Time

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed and made anew with each line
}

// NewKin makes a pipe that nobody holds yet.
func NewKin(t testing.TB) *Kin {
	t.Helper()
	k := &Kin{t: t, Path: filepath.Join(t.TempDir(), "kin"), Gone: make(chan struct{}), news: make(chan struct{})}
	if err := syscall.Mkfifo(k.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	go k.read()
	t.Cleanup(func() {
		// If nobody ever came, the reader still waits for the first.
		if f, err := os.OpenFile(k.Path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		k.kill()
		select {
		case <-k.Gone:
		case <-time.After(5 * time.Second):
			t.Errorf("somebody is left over; they said %q", k.Said())
		}
	})
	return k
}

// Env is the pipe for the environment of a process.
func (k *Kin) Env() string { return "KIN=" + k.Path }

func (k *Kin) read() {
	defer close(k.Gone)
	pipe, err := os.Open(k.Path) // waits for the first to open it
	if err != nil {
		return
	}
	defer pipe.Close()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		k.mu.Lock()
		k.lines = append(k.lines, lines.Text())
		close(k.news)
		k.news = make(chan struct{})
		k.mu.Unlock()
	}
	k.At = time.Now()
}

// Said is what they have said so far.
func (k *Kin) Said() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.lines)
}

// Await waits until somebody has said a word, and returns what followed it. A word is
// the beginning of a line.
func (k *Kin) Await(word string) string {
	k.t.Helper()
	limit := time.After(20 * time.Second)
	for {
		k.mu.Lock()
		lines, news := k.lines, k.news
		k.mu.Unlock()
		for _, line := range lines {
			if first, rest, _ := strings.Cut(line, " "); first == word {
				return rest
			}
		}
		select {
		case <-news:
		case <-k.Gone:
			k.t.Fatalf("nobody said %q before all were gone; they said %q", word, k.Said())
		case <-limit:
			k.t.Fatalf("nobody said %q; they said %q", word, k.Said())
		}
	}
}

// Pid is Await for a line that has a process's number after the word.
func (k *Kin) Pid(word string) int {
	k.t.Helper()
	pid, err := strconv.Atoi(k.Await(word))
	if err != nil {
		k.t.Fatal(err)
	}
	return pid
}

// AwaitGone waits until all are gone, and returns when that was.
func (k *Kin) AwaitGone(within time.Duration) time.Time {
	k.t.Helper()
	select {
	case <-k.Gone:
	case <-time.After(within):
		k.t.Fatalf("somebody is still there after %v; they said %q", within, k.Said())
	}
	return k.At
}

// kill ends who is left of a test that failed: all that have told their number.
func (k *Kin) kill() {
	select {
	case <-k.Gone:
		return
	case <-time.After(100 * time.Millisecond):
	}
	for _, line := range k.Said() {
		words := strings.Fields(line)
		if pid, err := strconv.Atoi(words[len(words)-1]); err == nil && pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
