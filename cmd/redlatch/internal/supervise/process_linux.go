package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is one line of the kernel's list.
type process struct {
	identity
	parent int
	group  int
	ended  bool // and not waited for yet
}

// identity tells a process from a later one with the same number.
type identity struct {
	pid     int
	started uint64 // in ticks since the start of the machine
}

// readProcesses reads the kernel's list of processes.
func readProcesses() ([]process, error) {
	folder, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	names, err := folder.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("/proc lists no process")
	}
	return all, nil
}

// readDescendants reads those alone that descend from one process. It is quick, however
// many others there are, but may miss one while others come and go.
func readDescendants(of int) ([]process, error) {
	var found []process
	for open := []int{of}; len(open) > 0; open = open[1:] {
		children, err := readChildren(open[0])
		if err != nil && open[0] == of {
			return nil, err
		}
		for _, pid := range children {
			if p, err := readProcess(pid); err == nil {
				found, open = append(found, p), append(open, pid)
			}
		}
	}
	return found, nil
}

// readChildren reads the numbers of a process's children. Each thread has its own.
func readChildren(pid int) ([]int, error) {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(lists) == 0 {
		return nil, fmt.Errorf("process %d: no list of its children", pid)
	}
	var children []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // the thread may have ended
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				children = append(children, pid)
			}
		}
	}
	return children, nil
}

func readProcess(pid int) (process, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	return parseProcess(pid, string(text))
}

// parseProcess reads the line that stands in /proc/PID/stat. The second field is a name
// in parentheses, in which anything may stand, also spaces and parentheses.
func parseProcess(pid int, line string) (process, error) {
	_, rest, found := cutLast(line, ")")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return process{}, fmt.Errorf("process %d: its state is unreadable: %q", pid, line)
	}
	p := process{identity: identity{pid: pid}, ended: fields[0] == "Z" || fields[0] == "X"}
	var err error
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return process{}, err
	}
	if p.group, err = strconv.Atoi(fields[2]); err != nil {
		return process{}, err
	}
	p.started, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// cutLast is strings.Cut at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// signal sends signals to the process, and to none that has got its number since. What is
// opened here stands for one process, so it is enough to see that it is still the one
// meant.
func (p process) signal(numbers []syscall.Signal) {
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer handle.Release()
	now, err := readProcess(p.pid)
	if err != nil || now.identity != p.identity {
		return
	}
	for _, number := range numbers {
		handle.Signal(number)
	}
}
