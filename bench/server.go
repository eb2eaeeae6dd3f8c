package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// server is a redis-server process of the benchmark's own, on a free port of the
// loopback interface. It keeps nothing on disk.
type server struct {
	address string
	dir     string
	process *exec.Cmd
	exited  chan struct{}
}

// startServer starts a server and waits until it answers.
func startServer(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp("", "redlatch-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	// Between choosing a free port and using it, another process may take it.
	for range 5 {
		if err = s.launch(ctx); err == nil {
			return s, nil
		}
		s.stop()
	}
	return nil, fmt.Errorf("start redis-server: %w", err)
}

func (s *server) launch(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	s.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	s.exited = make(chan struct{})
	s.process = exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", s.dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
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

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}
