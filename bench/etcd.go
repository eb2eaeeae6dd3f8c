package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"google.golang.org/grpc"
)

// etcd's own mutex, on an etcd of one member.

// etcd is the release that the module in the folder etcd pins. Its log of changes is in memory if the
// system has a folder for that: Redis keeps nothing on disk here, either.
func etcd(program string) software {
	return software{"etcd", func(dir string, port int) (*exec.Cmd, error) {
		peer, err := freePort()
		if err != nil {
			return nil, err
		}
		client, peers := fmt.Sprintf("http://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d", peer)
		return exec.Command(program,
			"--data-dir", dir, "--log-level", "error",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--initial-cluster", "default="+peers), nil
	}}
}

// buildEtcd returns the path of the server's program, which go keeps in its cache.
func buildEtcd(ctx context.Context) (string, error) {
	build := exec.CommandContext(ctx, "go", "tool", "-modfile=etcd/go.mod", "-n", "go.etcd.io/etcd/server/v3")
	build.Stderr = new(bytes.Buffer)
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build etcd: %w: %.500s", err, build.Stderr)
	}
	return strings.TrimSpace(string(out)), nil
}

// etcdContestant is one client with the default settings. In etcd a session is the owner of a mutex,
// so each worker has one.
type etcdContestant struct {
	client *clientv3.Client
}

func openEtcd(ctx context.Context, address string, wire *wire) (contestant, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{address},
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return wire.Dial(ctx, address)
		})},
	})
	if err != nil {
		return nil, err
	}
	return &etcdContestant{client}, nil
}

// Worker returns a worker with a session of its own.
func (c *etcdContestant) Worker(name string) worker {
	session, err := concurrency.NewSession(c.client)
	if err != nil {
		return &etcdWorker{err: err}
	}
	return &etcdWorker{mutex: concurrency.NewMutex(session, "/"+name+"/")}
}

// Close ends the client. Its sessions end by their leases.
func (c *etcdContestant) Close() { _ = c.client.Close() }

type etcdWorker struct {
	mutex *concurrency.Mutex
	err   error // why there is no session
}

// Lock waits for the mutex.
func (w *etcdWorker) Lock(ctx context.Context) error {
	if w.err != nil {
		return w.err
	}
	return w.mutex.Lock(ctx)
}

// Unlock gives it back.
func (w *etcdWorker) Unlock(ctx context.Context) error { return w.mutex.Unlock(ctx) }
