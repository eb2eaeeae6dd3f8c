package main

import (
	"bytes"
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
	meter   // of a Redis; nil of an etcd
	dir     string
	process *exec.Cmd
	exited  chan struct{}
	others  []*server // of a Cluster, which is no process of its own
}

// program starts a server on a port, with a folder of its own, and a second port if it needs one.
type program func(dir string, port, second int) *exec.Cmd

// redisServer keeps nothing on disk.
func redisServer(dir string, port, _ int) *exec.Cmd {
	return exec.Command("redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--dir", dir, "--save", "", "--appendonly", "no", "--daemonize", "no")
}

// startCluster starts three servers that divide the keys among themselves.
func startCluster(ctx context.Context) (all *server, err error) {
	all = &server{}
	create := exec.CommandContext(ctx, "redis-cli", "--cluster-yes", "--cluster", "create")
	for range 3 {
		s, err := startServer(ctx, func(dir string, port, bus int) *exec.Cmd {
			server := redisServer(dir, port, 0)
			server.Args = append(server.Args, "--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(bus))
			return server
		})
		if err != nil {
			all.stop()
			return nil, err
		}
		all.others, create.Args = append(all.others, s), append(create.Args, s.address)
	}
	all.address = strings.Join(create.Args[4:], ",")
	out, err := create.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %.2000s", err, out)
	} else {
		all.meter, err = newMeter(all.address)
	}
	if err != nil {
		all.stop()
		return nil, err
	}
	return all, nil
}

// buildEtcd returns the release that the module in the folder etcd pins. Its program stays in the
// cache of go. Its log of changes is in memory if the system has a folder for that: Redis keeps
// nothing on disk here, either.
func buildEtcd(ctx context.Context) (program, error) {
	build := exec.CommandContext(ctx, "go", "tool", "-modfile=etcd/go.mod", "-n", "go.etcd.io/etcd/server/v3")
	build.Env = append(os.Environ(), "GOWORK=off") // a workspace forbids -modfile
	build.Stderr = new(bytes.Buffer)
	out, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("build etcd: %w: %.500s", err, build.Stderr)
	}
	return func(dir string, port, peer int) *exec.Cmd {
		client, peers := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peer)
		return exec.Command(strings.TrimSpace(string(out)),
			"--data-dir", dir, "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--initial-cluster", "default="+peers)
	}, nil
}

// startRedis starts a server that has a meter.
func startRedis(ctx context.Context, program program) (*server, error) {
	s, err := startServer(ctx, program)
	if err != nil {
		return nil, err
	}
	if s.meter, err = newMeter(s.address); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// startServer starts a server and waits until it answers.
func startServer(ctx context.Context, program program) (*server, error) {
	dir, err := os.MkdirTemp(memory(), "redlatch-bench-")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	// Between choosing a free port and using it, another process may take it.
	for range 5 {
		if err = s.launch(ctx, program); err == nil {
			return s, nil
		}
		s.stop()
	}
	return nil, fmt.Errorf("start %s: %w", s.process, err)
}

// memory is a folder that is kept in memory, or empty where the system has none.
func memory() string {
	const folder = "/dev/shm"
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}

func (s *server) launch(ctx context.Context, program program) error {
	var ports [2]int
	for i := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer listener.Close()
		ports[i] = listener.Addr().(*net.TCPAddr).Port
		_ = listener.Close()
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil { // the attempt before has removed it
		return err
	}
	s.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	s.exited = make(chan struct{})
	s.process = program(s.dir, ports[0], ports[1])
	if err := s.process.Start(); err != nil {
		close(s.exited)
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
	for _, other := range s.others {
		other.stop()
	}
	s.close()
	if s.process != nil && s.process.Process != nil {
		_ = s.process.Process.Kill()
	}
	if s.exited != nil {
		<-s.exited
	}
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

// work is what the server has done. Of an etcd only its processor time is known, where the system
// tells it.
func (s *server) work(ctx context.Context) (figures, error) {
	if s.meter != nil {
		return s.meter.work(ctx)
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.process.Process.Pid))
	var nanos float64
	for _, file := range files {
		text, _ := os.ReadFile(file)
		first, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseFloat(first, 64)
		nanos += n
	}
	return figures{countCPU: nanos / 1e3}, nil
}
