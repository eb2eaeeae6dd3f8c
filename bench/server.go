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

	"github.com/redlatch/redlatch/internal/redistest"
)

// server is what contestants talk to: processes of the benchmark's own, on the loopback interface.
type server struct {
	address string
	meter               // of a Redis; nil of an etcd
	process *os.Process // of an etcd
	end     func()
}

func startRedis(context.Context) (*server, error) {
	s, err := redistest.Open()
	if err != nil {
		return nil, err
	}
	return metered(s.Addr(), s.Close)
}

// startCluster starts three servers that divide the keys among themselves.
func startCluster(context.Context) (*server, error) {
	c, err := redistest.OpenCluster(3, 0)
	if err != nil {
		c.Close()
		return nil, err
	}
	return metered(strings.Join(c.Addrs(), ","), c.Close)
}

func metered(address string, end func()) (*server, error) {
	m, err := newMeter(address)
	if err != nil {
		end()
		return nil, err
	}
	return &server{address: address, meter: m, end: func() { m.close(); end() }}, nil
}

// startEtcd starts the release that the module in the folder etcd pins. Its program stays in the cache of go.
// Its log of changes is in memory if the system has a folder for that: Redis keeps nothing on disk here, either.
func startEtcd(ctx context.Context) (s *server, err error) {
	build := exec.CommandContext(ctx, "go", "tool", "-modfile=etcd/go.mod", "-n", "go.etcd.io/etcd/server/v3")
	build.Env = append(os.Environ(), "GOWORK=off") // a workspace forbids -modfile
	build.Stderr = new(bytes.Buffer)
	out, err := build.Output()
	if err != nil {
		return nil, fmt.Errorf("build etcd: %w: %.500s", err, build.Stderr)
	}
	dir, err := os.MkdirTemp("/dev/shm", "redlatch-bench-")
	if err != nil {
		dir, err = os.MkdirTemp("", "redlatch-bench-")
	}
	if err != nil {
		return nil, err
	}
	var urls [2]string
	for i := range urls {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		urls[i] = listener.Addr().String()
		_ = listener.Close()
	}
	client, peers := "http://"+urls[0], "http://"+urls[1]
	etcd := exec.Command(strings.TrimSpace(string(out)),
		"--data-dir", dir, "--log-level", "error",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "default="+peers)
	if err := etcd.Start(); err != nil {
		return nil, err
	}
	s = &server{address: urls[0], process: etcd.Process, end: func() {
		_ = etcd.Process.Kill()
		_ = etcd.Wait()
		_ = os.RemoveAll(dir)
	}}
	if err := listens(ctx, s.address); err != nil {
		s.end()
		return nil, fmt.Errorf("etcd does not listen: %w", err)
	}
	return s, nil
}

// listens waits until somebody listens at an address.
func listens(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		if until(ctx, time.Now().Add(5*time.Millisecond)) != nil {
			return err
		}
	}
}

// work is what the server has done. Of an etcd only its processor time is known, where the system
// tells it.
func (s *server) work(ctx context.Context) (figures, error) {
	if s.meter != nil {
		return s.meter.work(ctx)
	}
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.process.Pid))
	var nanos float64
	for _, file := range files {
		text, _ := os.ReadFile(file)
		first, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseFloat(first, 64)
		nanos += n
	}
	return figures{countCPU: nanos / 1e3}, nil
}
