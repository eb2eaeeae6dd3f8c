package supervise

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// process is one line of the kernel's list.
type process struct {
	identity
	parent int
	group  int
	ended  bool // and not waited for yet
	// stopped says that it stands still: by a signal, in the hands of a debugger, or in the kernel,
	// where a signal to stop takes effect before it goes on.
	stopped bool
	threads int // 0 if that is not known
	handle  int // a file that stands for this process alone, 0 if there is none
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

// readChildren reads the numbers of a process's children. Each thread has its own.
func readChildren(p process) ([]int, error) {
	threads := []string{strconv.Itoa(p.pid)}
	folder := "/proc/" + threads[0] + "/task"
	if p.threads != 1 {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return nil, err
		}
		threads = nil
		for _, entry := range entries {
			threads = append(threads, entry.Name())
		}
	}
	var children []int
	known := false // older kernels have no such lists
	for _, thread := range threads {
		text, err := readText(folder + "/" + thread + "/children") // it may have ended
		known = known || err == nil
		for word := range strings.FieldsSeq(text) {
			if pid, err := strconv.Atoi(word); err == nil {
				children = append(children, pid)
			}
		}
	}
	if !known {
		return nil, fmt.Errorf("process %d: no list of its children", p.pid)
	}
	return children, nil
}

func readProcess(pid int) (process, error) {
	text, err := readText("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseProcess(pid, text)
}

// readText reads a file of /proc, of which there may be thousands to read and little time: os.ReadFile
// makes more calls.
func readText(path string) (string, error) {
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(file)
	var page [4096]byte
	for text := []byte(nil); ; {
		n, err := unix.Read(file, page[:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return "", err
		case n == 0:
			return string(text), nil
		default:
			text = append(text, page[:n]...)
		}
	}
}

// parseProcess reads the line that stands in /proc/PID/stat. The second field is a name
// in parentheses, in which anything may stand, also spaces and parentheses.
func parseProcess(pid int, line string) (process, error) {
	end := strings.LastIndex(line, ")")
	fields := strings.Fields(line[end+1:])
	if end < 0 || len(fields) < 20 {
		return process{}, fmt.Errorf("process %d: its state is unreadable: %q", pid, line)
	}
	state := fields[0]
	p := process{identity: identity{pid: pid}, stopped: strings.Contains("TtD", state)}
	var err error
	if p.threads, err = strconv.Atoi(fields[17]); err != nil {
		return process{}, err
	}
	// Of a process whose first thread has ended, and others have not, the first line says Z.
	p.ended = state == "X" || state == "Z" && p.threads == 1
	if p.parent, err = strconv.Atoi(fields[1]); err != nil {
		return process{}, err
	}
	if p.group, err = strconv.Atoi(fields[2]); err != nil {
		return process{}, err
	}
	p.started, err = strconv.ParseUint(fields[19], 10, 64)
	return p, err
}

// hold takes a handle of the process. A child of ours keeps its number until we wait for it. For another,
// it is enough to see that the number still stands for the one meant.
func (p *process) hold(ours int) {
	handle, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return
	}
	if p.parent != ours && !p.isThere() {
		unix.Close(handle)
		return
	}
	p.handle = handle
}

// isThere says that the number stands for the process still.
func (p *process) isThere() bool {
	now, err := readProcess(p.pid)
	return err == nil && now.identity == p.identity
}

// signal sends signals to a process that was found just now, or of which there is a handle, and to none
// that has got its number since.
func (p *process) signal(ours int, numbers []unix.Signal) {
	for _, number := range numbers {
		switch {
		case p.handle > 0:
			unix.PidfdSendSignal(p.handle, number, nil, 0)
		case p.parent == ours || p.isThere():
			unix.Kill(p.pid, number)
		}
	}
}
