//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/proctest"
	"github.com/redlatch/redlatch/internal/redistest"
)

// running is a redlatch run with a shell script for its command.
type running struct {
	t       *testing.T
	command *exec.Cmd
	tree    *proctest.Tree   // of the script
	proxy   *redistest.Proxy // before the server, if there is one
	stderr  string           // the file that has it
	exited  chan struct{}
}

// newRunning prepares one. What comes before the script are the flags, and the lock's name.
func newRunning(t *testing.T, server *redistest.Server, flags, script string) *running {
	t.Helper()
	folder := t.TempDir()
	r := &running{t: t, tree: proctest.NewTree(t), stderr: filepath.Join(folder, "stderr"), exited: make(chan struct{})}
	arguments := append([]string{"run"}, strings.Fields(flags)...)
	env := commandEnv(t, server)
	r.command = exec.Command("sh", "-c", `exec redlatch "$@"`, "sh")
	r.command.Args = append(append(r.command.Args, arguments...), "--", "sh", "-c", `exec 9>"$TREE" 2>/dev/null; `+script)
	r.command.Env = append(append(os.Environ(), env...), r.tree.Env())
	r.command.Dir = folder // for core dumps
	return r
}

// startRunning starts one.
func startRunning(t *testing.T, server *redistest.Server, flags, script string) *running {
	t.Helper()
	r := newRunning(t, server, flags, script)
	r.start()
	return r
}

func (r *running) start() {
	r.t.Helper()
	if r.command.Stderr == nil {
		// A file, because a pipe would last as long as whoever is left behind.
		stderr, err := os.Create(r.stderr)
		if err != nil {
			r.t.Fatal(err)
		}
		defer stderr.Close()
		r.command.Stderr = stderr
	}
	if err := r.command.Start(); err != nil {
		r.t.Fatal(err)
	}
	go func() {
		defer close(r.exited)
		r.command.Wait()
	}()
	r.t.Cleanup(func() { r.command.Process.Kill(); <-r.exited })
}

// end waits for the end and checks the exit code, and that what was said, if anything,
// is one line in which every given text stands.
func (r *running) end(code int, texts ...string) {
	r.t.Helper()
	select {
	case <-r.exited:
	case <-time.After(20 * time.Second):
		r.t.Fatal("it does not end")
	}
	text, _ := os.ReadFile(r.stderr)
	stderr := string(text)
	if got := shellCode(r.command.ProcessState); got != code {
		r.t.Errorf("exit code %d, want %d; stderr: %s", got, code, stderr)
	}
	if want := min(len(texts), 1); strings.Count(stderr, "\n") != want {
		r.t.Errorf("want %d lines: %s", want, stderr)
	}
	for _, text := range texts {
		if !strings.Contains(stderr, text) {
			r.t.Errorf("no %q in %s", text, stderr)
		}
	}
}

// awaitRenewal waits until a lock has just been renewed, and returns the moment before
// which it does not end in Redis.
func awaitRenewal(t *testing.T, server *redistest.Server, lock string) (expiry time.Time) {
	t.Helper()
	last := time.Hour
	redistest.Eventually(t, 10*time.Second, func() bool {
		asked := time.Now()
		left := server.PTTL(t, lock)
		renewed := left > last
		last, expiry = left, asked.Add(left)
		return renewed
	}, "the lock is renewed")
	return expiry
}

// goneBefore checks that the script and all that it started was gone in time.
func (r *running) goneBefore(expiry time.Time) {
	r.t.Helper()
	if gone := r.tree.AwaitGone(20 * time.Second); !gone.Before(expiry) {
		r.t.Errorf("all were gone %v after the lease had ended in Redis", gone.Sub(expiry))
	}
}

// look is one look at a lock in Redis.
type look struct {
	asked time.Time
	left  time.Duration
}

// watched looks at a lock all the time, until the function returned is called. It returns what
// was seen.
func watched(t *testing.T, server *redistest.Server, lock string) (stop func() []look) {
	looks := []look{{time.Now(), server.PTTL(t, lock)}}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			asked := time.Now()
			looks = append(looks, look{asked, server.PTTL(t, lock)})
		}
	}()
	return func() []look { close(over); <-ended; return looks }
}

// margin is how long before the end of the lock a moment was.
func margin(looks []look, gone time.Time) time.Duration {
	margin := -time.Hour
	for _, one := range looks {
		if one.left > 0 && one.asked.Before(gone) {
			margin = one.asked.Add(one.left).Sub(gone)
		}
	}
	return margin
}
