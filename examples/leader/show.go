package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/redlatch/redlatch/driver/memory"
)

// show starts the processes, and kills the leader twice.
func show(ctx context.Context, out io.Writer) error {
	server, err := memory.Serve("127.0.0.1:0")
	if err != nil {
		return err
	}
	defer server.Close()
	said := make(chan news, 100)
	candidates := map[string]*candidate{}
	for _, name := range []string{"ada", "bob", "cleo"} {
		c, err := start(ctx, "redis://"+server.Addr(), name, said)
		if err != nil {
			return err
		}
		defer c.end()
		candidates[name] = c
	}
	screen := screen{out, time.Now()}
	for {
		leads, err := await(ctx, said, "leads")
		if err != nil {
			return err
		}
		screen.say("%s leads in term %s", leads.name, leads.rest)
		if len(candidates) == 1 {
			break
		}
		time.Sleep(lease) // long enough to see it
		screen.say("%s is killed; its lease ends within %v", leads.name, lease)
		candidates[leads.name].kill()
		delete(candidates, leads.name)
	}
	for name, last := range candidates {
		screen.say("%s is asked to end", name)
		last.end()
		if _, err := await(ctx, said, "stops"); err != nil {
			return err
		}
		screen.say("%s has released the lock", name)
	}
	return nil
}

// news is a line that a candidate printed.
type news struct{ name, word, rest string }

// await waits for a line that begins with a word.
func await(ctx context.Context, said <-chan news, word string) (news, error) {
	for {
		select {
		case n := <-said:
			if n.word == word {
				return n, nil
			}
		case <-ctx.Done():
			return news{}, fmt.Errorf("nobody %s: %w", word, ctx.Err())
		}
	}
}

// candidate is a process.
type candidate struct {
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{}
}

// start starts one.
func start(ctx context.Context, url, name string, said chan<- news) (*candidate, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), urlVariable+"="+url, nameVariable+"="+name)
	cmd.Stderr = os.Stderr
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &candidate{cmd, stdin, make(chan struct{})}
	go func() {
		defer close(c.ended)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			word, rest, _ := strings.Cut(lines.Text(), " ")
			said <- news{name, word, rest}
		}
		_ = cmd.Wait()
	}()
	return c, nil
}

// end asks it to end, and waits for it.
func (c *candidate) end() {
	_ = c.stdin.Close()
	<-c.ended
}

// kill ends it as kill -9 does.
func (c *candidate) kill() {
	_ = c.cmd.Process.Kill()
	<-c.ended
}
