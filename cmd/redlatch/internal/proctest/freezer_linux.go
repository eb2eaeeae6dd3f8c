package proctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Freezer is a control group whose processes can be made to stand still without a signal, as a
// container is paused.
type Freezer struct {
	t             testing.TB
	folder        string
	file          string
	frozen, thawn string
}

// NewFreezer makes one that lasts until the end of the test. It skips a test on a machine whose
// control groups are not ours to make. The kind is "cgroup2", or "cgroup" for the older one, in
// which a frozen process cannot even be killed.
func NewFreezer(t testing.TB, kind string) *Freezer {
	t.Helper()
	f := &Freezer{t: t, file: "cgroup.freeze", frozen: "1", thawn: "0"}
	if kind == "cgroup" {
		f.file, f.frozen, f.thawn = "freezer.state", "FROZEN", "THAWED"
	}
	for _, root := range mounts(kind) {
		f.folder = filepath.Join(root, fmt.Sprintf("redlatch-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
		if os.Mkdir(f.folder, 0o755) != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(f.folder, f.file)); err == nil {
			t.Cleanup(f.remove)
			return f
		}
		os.Remove(f.folder)
	}
	t.Skipf("no freezer of kind %s can be made here", kind)
	return nil
}

// mounts are the places where control groups of a kind are mounted.
func mounts(kind string) (all []string) {
	text, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == kind {
			all = append(all, fields[1])
		}
	}
	return all
}

// Add moves a process into it, unless it has ended. Those that it starts from then on are in it.
func (f *Freezer) Add(pid int) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil && !errors.Is(err, syscall.ESRCH) {
		f.t.Fatal(err)
	}
}

// Freeze makes its processes stand still.
func (f *Freezer) Freeze() { f.t.Helper(); f.set(f.frozen) }

// Thaw lets them go on.
func (f *Freezer) Thaw() { f.t.Helper(); f.set(f.thawn) }

func (f *Freezer) set(state string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.folder, f.file), []byte(state), 0); err != nil {
		f.t.Fatal(err)
	}
}

// remove removes it when its processes have ended.
func (f *Freezer) remove() {
	f.Thaw()
	for limit := time.Now().Add(10 * time.Second); os.Remove(f.folder) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(limit) {
			f.t.Errorf("somebody is left in %s", f.folder)
			return
		}
	}
}
