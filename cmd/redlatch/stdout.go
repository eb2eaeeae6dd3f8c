package main

import "os"

// stdout is what the verbs print to. It remembers the first failure, which ends the process with
// its own exit code, whatever was printed: a result, the help or a script for a shell.
type stdout struct{ err error }

func (s *stdout) Write(text []byte) (n int, err error) {
	if n, err = os.Stdout.Write(text); s.err == nil {
		s.err = err
	}
	return n, err
}
