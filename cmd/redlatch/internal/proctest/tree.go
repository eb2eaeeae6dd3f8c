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

	"golang.org/x/sys/unix"

	"github.com/redlatch/redlatch/internal/redistest"
)

// Tree is a process tree whose processes hold a named pipe open. The pipe ends at the moment
// when the last of them is gone. What they write into it is what they say.
type Tree struct {
	t    testing.TB
	Path string        // of the pipe, which a shell script opens with exec 9>"$TREE"
	Gone chan struct{} // closed when the last is gone; then the next two are set
	Last time.Time     // until when somebody was there; zero if nobody was ever seen
	At   time.Time     // when all were gone for certain

	mu    sync.Mutex
	pipe  *os.File // nil until the first has opened it
	lines []string
	news  chan struct{} // closed and made anew with each line
}

// NewTree makes a pipe that nobody holds yet.
func NewTree(t testing.TB) *Tree {
	t.Helper()
	tree := &Tree{t: t, Path: filepath.Join(t.TempDir(), "tree"), Gone: make(chan struct{}), news: make(chan struct{})}
	if err := syscall.Mkfifo(tree.Path, 0o600); err != nil {
		t.Fatal(err)
	}
	go tree.read()
	t.Cleanup(func() {
		if tree.released(100 * time.Millisecond) {
			return
		}
		tree.kill()
		if !tree.released(30 * time.Second) {
			t.Errorf("somebody is left over; they said %q", tree.Said())
		}
	})
	return tree
}

// Env is the pipe for the environment of a process.
func (tree *Tree) Env() string { return "TREE=" + tree.Path }

func (tree *Tree) read() {
	defer close(tree.Gone)
	pipe, err := os.Open(tree.Path) // waits for the first to open it
	if err != nil {
		return
	}
	defer pipe.Close()
	tree.mu.Lock()
	tree.pipe = pipe
	tree.mu.Unlock()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		tree.watch()
	}()
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		tree.mu.Lock()
		tree.lines = append(tree.lines, lines.Text())
		close(tree.news)
		tree.news = make(chan struct{})
		tree.mu.Unlock()
	}
	tree.At = time.Now()
	<-watched
	if tree.At.Sub(tree.Last) < blind {
		tree.Last = tree.At
	}
}

// blind is the longest time between the last look that found somebody and the end of the pipe in which somebody counts as there
// all the time. If it was longer, the machine was busy, the end was read late, and only the look is certain.
const blind = 20 * time.Millisecond

// watch asks every 5 ms whether somebody is there.
func (tree *Tree) watch() {
	for now := time.Now(); tree.IsThere(); now = time.Now() {
		tree.Last = now
		time.Sleep(5 * time.Millisecond)
	}
}

// IsThere asks the kernel whether somebody has the pipe open. It says no until a process has opened it.
func (tree *Tree) IsThere() (there bool) {
	tree.mu.Lock()
	defer tree.mu.Unlock()
	if tree.pipe == nil {
		return false
	}
	raw, err := tree.pipe.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) { // does nothing once the pipe is closed
		asked := []unix.PollFd{{Fd: int32(fd)}}
		_, _ = unix.Poll(asked, 0) // if a signal interrupts it, there are no events
		there = asked[0].Revents&unix.POLLHUP == 0
	})
	return there
}

// Said is what they have said so far.
func (tree *Tree) Said() []string {
	tree.mu.Lock()
	defer tree.mu.Unlock()
	return slices.Clone(tree.lines)
}

// Await waits until somebody has said a word, and returns what followed it. A word is
// the beginning of a line.
func (tree *Tree) Await(word string) string {
	tree.t.Helper()
	limit := time.After(redistest.Patience(20 * time.Second))
	for {
		tree.mu.Lock()
		lines, news := tree.lines, tree.news
		tree.mu.Unlock()
		for _, line := range lines {
			if first, rest, _ := strings.Cut(line, " "); first == word {
				return rest
			}
		}
		select {
		case <-news:
		case <-tree.Gone:
			tree.t.Fatalf("nobody said %q before all were gone; they said %q", word, tree.Said())
		case <-limit:
			tree.t.Fatalf("nobody said %q; they said %q", word, tree.Said())
		}
	}
}

// Pid is Await for a line that has a process's number after the word.
func (tree *Tree) Pid(word string) int {
	tree.t.Helper()
	pid, err := strconv.Atoi(tree.Await(word))
	if err != nil {
		tree.t.Fatal(err)
	}
	return pid
}

// AwaitGone waits until all are gone.
func (tree *Tree) AwaitGone(within time.Duration) {
	tree.t.Helper()
	select {
	case <-tree.Gone:
	case <-time.After(redistest.Patience(within)):
		tree.t.Fatalf("somebody is still there after %v; they said %q", within, tree.Said())
	}
}

// released waits for the end of the pipe. If nobody ever came, the reader still waits for the
// first, and is released here. That is tried again and again: a signal to this process, such as
// the end of a child, makes the reader open the pipe anew, and who comes between is missed.
func (tree *Tree) released(within time.Duration) bool {
	limit := time.After(within)
	for {
		if f, err := os.OpenFile(tree.Path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			f.Close()
		}
		select {
		case <-tree.Gone:
			return true
		case <-limit:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// kill ends who is left of a test that failed: all that have told their number.
func (tree *Tree) kill() {
	for _, line := range tree.Said() {
		words := strings.Fields(line)
		if pid, err := strconv.Atoi(words[len(words)-1]); err == nil && pid > 1 {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// Stubborn is a script that leaves nothing undone to survive: three processes that ignore
// every signal that can be ignored, one in a session of its own.
const Stubborn = `
trap '' TERM INT HUP QUIT USR1 USR2
sh -c 'echo grandchild $$ >&9; while :; do sleep 1; done' &
setsid sh -c 'echo apart $$ >&9; while :; do sleep 1; done' &
echo leader $$ >&9
while :; do sleep 1; done`

// AwaitStubborn waits until all processes of Stubborn run.
func (tree *Tree) AwaitStubborn() {
	tree.t.Helper()
	for _, name := range []string{"leader", "grandchild", "apart"} {
		tree.Await(name)
	}
}
