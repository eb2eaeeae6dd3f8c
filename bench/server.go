package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// server is a process of the benchmark's own, on a free port of the loopback interface.
type server struct {
	address string
	dir     string
	process *exec.Cmd
	exited  chan struct{}
}

// software is a program that serves.
type software struct {
	name string
	// command starts it on a port, with a folder of its own.
	command func(dir string, port int) (*exec.Cmd, error)
}

// redisServer keeps nothing on disk.
var redisServer = software{"redis-server", func(dir string, port int) (*exec.Cmd, error) {
	return exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no"), nil
}}

// startServer starts a server and waits until it answers.
func startServer(ctx context.Context, what software) (*server, error) {
	dir, err := os.MkdirTemp(memory(), "redlatch-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	// Between choosing a free port and using it, another process may take it.
	for range 5 {
		if err = s.launch(ctx, what); err == nil {
			return s, nil
		}
		s.stop()
	}
	return nil, fmt.Errorf("start %s: %w", what.name, err)
}

// memory is a folder that is kept in memory, or empty where the system has none.
func memory() string {
	const folder = "/dev/shm"
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}

func (s *server) launch(ctx context.Context, what software) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil { // the attempt before has removed it
		return err
	}
	s.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.exited = make(chan struct{})
	if s.process, err = what.command(s.dir, port); err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	go func() {
		_ = s.process.Wait()
		close(s.exited)
	}()
	return s.awaitReady(ctx)
}

func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", s.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.exited:
			return fmt.Errorf("it ended: %v", s.process.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", err)
		case <-tick.C:
		}
	}
}

// stop ends the process and removes what it left.
func (s *server) stop() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.exited
	}
	_ = os.RemoveAll(s.dir)
}

// cpuTime is the processor time of all its threads, and 0 where the system does not tell it.
func (s *server) cpuTime() time.Duration {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.process.Process.Pid))
	var sum time.Duration
	for _, file := range files {
		text, _ := os.ReadFile(file)
		nanos, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(nanos, 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
