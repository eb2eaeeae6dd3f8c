//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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

// look is one look at a lock in Redis.
type look struct {
	asked, answered time.Time
	left            time.Duration
}

func newLook(t *testing.T, server *redistest.Server, lock string) look {
	asked := time.Now()
	left := server.PTTL(t, lock)
	return look{asked, time.Now(), left}
}

// earliest is the moment before which the lock does not end in Redis.
func (l look) earliest() time.Time { return l.asked.Add(l.left) }

// latest is the moment by which it has ended, unless it is renewed.
func (l look) latest() time.Time { return l.answered.Add(l.left) }

// latestIfLost is latest if the server was lost before a moment. A renewal is due a third of the lease after the last. So if
// that moment is later than a quarter, there may have been one more.
func (l look) latestIfLost(by time.Time, lease time.Duration) time.Time {
	if last := l.earliest().Add(-lease); by.Before(last.Add(lease / 4)) {
		return l.latest()
	}
	return by.Add(lease)
}

// awaitRenewal waits until a lock has just been renewed.
func awaitRenewal(t *testing.T, server *redistest.Server, lock string) (renewed look) {
	t.Helper()
	renewed.left = time.Hour
	redistest.Eventually(t, 10*time.Second, func() bool {
		last := renewed.left
		renewed = newLook(t, server, lock)
		return renewed.left > last
	}, "the lock is renewed")
	return renewed
}

// goneBefore checks that the script and all that it started was gone before a lock ended.
func (r *running) goneBefore(end time.Time) {
	r.t.Helper()
	r.tree.AwaitGone(20 * time.Second)
	if last := r.tree.Last; !last.Before(end) {
		r.t.Errorf("somebody was there %v after the lease had ended in Redis", last.Sub(end))
	}
}

// watched looks at a lock all the time, until the function returned is called or the test ends. It returns what was seen.
func watched(t *testing.T, server *redistest.Server, lock string) (stop func() []look) {
	looks := []look{newLook(t, server, lock)}
	if looks[0].left <= 0 {
		t.Fatal("the lock is not held")
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
			looks = append(looks, newLook(t, server, lock))
		}
	}()
	stop = sync.OnceValue(func() []look {
		close(over)
		<-ended
		return append(looks, newLook(t, server, lock))
	})
	t.Cleanup(func() { stop() })
	return stop
}

// margin is the longest time that may have been between a moment and the end of the lock. Nobody else takes the lock, so each
// look that finds it shows that it was held until then.
func margin(looks []look, moment time.Time) time.Duration {
	var end time.Time
	for _, one := range looks {
		switch {
		case one.left > 0:
			end = one.latest()
		case one.answered.Before(moment): // it had ended by then
			return one.answered.Sub(moment)
		}
	}
	return end.Sub(moment)
}
