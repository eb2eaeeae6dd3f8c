package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

// verdict is what became of a mutant.
type verdict struct {
	killer string // empty: it survived
	wrong  error  // with the laboratory, or an entry by hand
	took   time.Duration
}

// try runs tests on a mutant until one fails.
func (l *laboratory) try(ctx context.Context, m mutant) (v verdict) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	if m.named != nil {
		return l.tryNamed(ctx, m)
	}
	for _, folder := range m.tests {
		s, err := l.suite(ctx, folder)
		if err != nil {
			return verdict{wrong: err}
		}
		why, _, err := s.run(ctx, l.scratch, m.id, "")
		if why != "" || err != nil {
			return verdict{killer: why + " in " + folder, wrong: err}
		}
	}
	return v
}

// wrongReasons are outputs of a test that fails for another reason than what the entry by hand says.
var wrongReasons = regexp.MustCompile(`(?m)syntax error|attempt to (index|call|perform|compare|concatenate)|command arguments must be strings|^(panic|fatal error|SIGSEGV)`)

// tryNamed runs the tests that an entry by hand names. Each of them has to fail by itself.
func (l *laboratory) tryNamed(ctx context.Context, m mutant) verdict {
	for i, name := range m.named {
		s, err := l.suite(ctx, m.tests[i])
		if err != nil {
			return verdict{wrong: err}
		}
		why, output, err := s.run(ctx, l.scratch, m.id, "^"+name+"$")
		switch {
		case err != nil:
			return verdict{wrong: err}
		case why == "":
			return verdict{}
		case why == hangs || wrongReasons.MatchString(output):
			return verdict{wrong: fmt.Errorf("%s fails for another reason: %s\n%s", name, why, output)}
		}
	}
	return verdict{killer: strings.Join(m.named, ", ")}
}

const hangs = "hang"

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)|^(panic: .*|fatal error: .*)`)

// run runs tests on a mutant, 0 for none, and says why they fail: what failed first, or that they hang. Without
// a pattern it runs all, and ends with the first that fails. With a sign it ends with that.
func (s *suite) run(ctx context.Context, scratch string, id int, pattern string) (why, output string, err error) {
	files, err := os.MkdirTemp(scratch, "t")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(files)
	limited, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	command := exec.CommandContext(limited, s.binary, append(slices.Clone(s.flags), "-test.timeout=0", "-test.skip="+s.skip, "-test.run="+pattern)...)
	command.Dir, command.WaitDelay = s.folder, 5*time.Second
	command.Env = append(os.Environ(), fmt.Sprint("MUTANT=", id), "TMPDIR="+files)
	printed, err := command.StdoutPipe()
	if err != nil {
		return "", "", err
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		return "", "", err
	}
	for lines := bufio.NewReader(printed); ; {
		line, err := lines.ReadString('\n')
		output += line
		if found := cmp.Or(s.sign, failed).FindStringSubmatch(line); found != nil && why == "" {
			if why = strings.TrimSpace(found[1] + found[2]); s.sign != nil || id != 0 && pattern == "" {
				cancel()
			}
		}
		if err != nil {
			break
		}
	}
	err = command.Wait()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", output, ctx.Err()
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return hangs, output, nil
	case err != nil && !errors.As(err, &exit) && why == "":
		return "", output, err
	case err != nil && why == "":
		why = "the end of the tests"
	}
	return why, output, nil
}
