package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// process is one process of the pool.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// start starts a process. Each line that it prints goes to said.
func start(ctx context.Context, url, name string, said func(name string, words []string)) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), urlVariable+"="+url)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name, cmd, stdin, make(chan struct{})}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			said(name, strings.Fields(lines.Text()))
		}
		_ = cmd.Wait()
	}()
	return p, nil
}

// end asks it to end, and waits for it.
func (p *process) end() {
	_ = p.stdin.Close()
	<-p.ended
}

// kill ends it as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}
