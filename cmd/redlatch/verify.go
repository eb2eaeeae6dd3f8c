package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/redlatch/redlatch/verify"
)

// verification is the work of verify.
type verification struct {
	verify.Checker
	asJSON bool
	out    io.Writer
	found  int
	said   map[string]int // by what findings are about, how many: their texts grow with the hold
}

func newVerify() *cobra.Command {
	var v verification
	cmd := &cobra.Command{
		Use:   "verify FILE…",
		Short: "Check recorded events: did locks keep their promises?",
		Long: `verify reads the events that processes have recorded with verify.NewRecorder of
the Go library, one JSON object a line, and prints each promise that was not
kept:

  overlap        two owners relied on a lock at one moment
  token back     a later holder has a smaller token, or two have the same one
  past deadline  an owner relied on its hold after its deadline
  late loss      an owner learned more than 100ms after its deadline that its
                 hold is lost

Give the files of all processes at once. FILE - is the standard input, in which
the events of many processes may be mixed. Then verify also prints findings
every second, and compares the last 1,000 holds of each lock.

Clocks of machines differ. Locks with tokens say by how much, as they go from
machine to machine, and verify prints it. Where they say nothing, --clocks does.

With --json verify prints one object a line: the findings, and at the end a
summary.

Exit code:
  0   there is no finding
  1   there are findings
  2   the command line is wrong
  70  a file cannot be read, or has another line than an event`,
		Example:           "  redlatch verify events/*.jsonl\n  redlatch verify --clocks 50ms a.jsonl b.jsonl\n  tail -qF events/*.jsonl | redlatch verify -",
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
	}
	cmd.PreRunE = readEnvironment
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if v.Clocks < 0 {
			return exit(exitUsage, "--clocks %v: it is negative", v.Clocks)
		}
		if err := checkStdout(); err != nil {
			return err
		}
		v.out, v.said = cmd.OutOrStdout(), make(map[string]int)
		for _, file := range files {
			if err := v.read(file, cmd.InOrStdin()); err != nil {
				return exit(exitFailure, "%s: %w", file, err)
			}
		}
		return v.conclude()
	}
	durationVar(cmd.Flags(), &v.Clocks, "clocks", "", 0, "by how much the clocks of two machines differ at most")
	jsonVar(cmd, &v.asJSON)
	return cmd
}

// read takes in the events of a file, or of the standard input.
func (v *verification) read(file string, stdin io.Reader) error {
	if file == "-" {
		return v.follow(stdin)
	}
	f, err := os.Open(file)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err // the rest repeats the name
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return eachEvent(file, f, v.Add)
}

// follow takes in events as they come, and prints findings meanwhile.
func (v *verification) follow(stdin io.Reader) error {
	lines, done := make(chan verify.Line), make(chan error, 1)
	go func() {
		done <- eachEvent("-", stdin, func(l verify.Line) { lines <- l })
	}()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	news := false
	for {
		select {
		case l := <-lines:
			v.Add(l)
			news = true
		case <-look.C:
			if news {
				if err := v.print(v.Check()); err != nil {
					return err
				}
				v.Forget(1000)
			}
			news = false
		case err := <-done:
			return err
		}
	}
}

// eachEvent reads lines until one is no event. It leaves out what a process has not written to its end.
func eachEvent(file string, in io.Reader, do func(verify.Line)) error {
	lines, n, open := bufio.NewScanner(in), 0, false
	lines.Buffer(nil, 1<<20)
	lines.Split(func(data []byte, atEnd bool) (int, []byte, error) {
		length, line, err := bufio.ScanLines(data, atEnd)
		open = !bytes.HasSuffix(data[:length], []byte("\n"))
		return length, line, err
	})
	for lines.Scan() {
		n++
		line, start := lines.Bytes(), []byte(`{"at":"`)
		l, ok := readEvent(line)
		if !ok {
			// After a crash the next process writes behind what was cut off.
			l, ok = readEvent(line[max(0, bytes.LastIndex(line, start)):])
			cut := open && (bytes.HasPrefix(line, start) || bytes.HasPrefix(start, line))
			mixed := file == "-" && n > 1 // tail may have printed half a line, and another file before the rest
			if !ok && !cut && !mixed {
				return fmt.Errorf("line %d is no event of a recorder", n)
			}
			tell(fmt.Errorf("%s: an event in line %d is cut off, and left out", file, n))
		}
		if ok {
			do(l)
		}
	}
	return lines.Err()
}

func readEvent(line []byte) (l verify.Line, ok bool) {
	err := json.Unmarshal(line, &l)
	return l, err == nil && l.Event != ""
}

// print prints the findings that are new.
func (v *verification) print(report verify.Report) error {
	now := make(map[string]int)
	for _, f := range report.Findings {
		about := fmt.Sprint(f.Kind, f.Lock, f.At.UnixNano())
		if now[about]++; now[about] <= v.said[about] {
			continue
		}
		v.said[about], v.found = now[about], v.found+1
		if err := printAs(v.out, v.asJSON, f, printable([]byte(f.Kind+", lock "+f.Lock+": "+f.Text))+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// verifyReport is the line at the end. docs/cli.md describes the fields, which stay.
type verifyReport struct {
	Kind      string          `json:"kind"` // "summary"
	Findings  int             `json:"findings"`
	Holds     int             `json:"holds"`
	Locks     int             `json:"locks"`
	Undecided int             `json:"undecided"`
	Clocks    []verify.Bounds `json:"clocks"`
}

// conclude prints what is left to say, and makes the exit code.
func (v *verification) conclude() error {
	report := v.Check()
	if err := v.print(report); err != nil {
		return err
	}
	summary := verifyReport{"summary", v.found, report.Holds, report.Locks, report.Undecided, append([]verify.Bounds{}, report.Clocks...)}
	err := printAs(v.out, v.asJSON, summary, v.summary(report))
	if err == nil && v.found > 0 {
		return &exitError{code: exitFindings}
	}
	return err
}

func (v *verification) summary(report verify.Report) string {
	text := ""
	for _, b := range report.Clocks {
		text += printable([]byte("clocks: "+b.String())) + "\n"
	}
	if report.Undecided > 0 {
		text += fmt.Sprintf("undecided: %s of holds, which overlap only if the clocks allow it (--clocks says how far they differ)\n", count(report.Undecided, "pair"))
	}
	return text + fmt.Sprintf("%s among %s of %s\n", count(v.found, "finding"), count(report.Holds, "hold"), count(report.Locks, "lock"))
}
