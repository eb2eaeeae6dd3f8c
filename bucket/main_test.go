package bucket_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/fence"
)

// theServer is the server of all tests.
var theServer server

func TestMain(m *testing.M) {
	if socket := os.Getenv(writerSocket); socket != "" {
		writer(server{socket})
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "s3-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	s, stop, err := startServer(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "server of S3:", err)
		return 1
	}
	defer stop()
	theServer = s
	return m.Run()
}

// writerSocket is the variable that turns this program into a writer, with the socket of the
// server as its value. writerKey is the variable with the key of the object.
const (
	writerSocket = "REDLATCH_S3_WRITER"
	writerKey    = "REDLATCH_S3_KEY"
)

// writer is another process. It writes with the token 33, and is paused between its read and its
// write until its input has a line. It prints when it is paused, and then what became of it.
func writer(s server) {
	ctx := context.Background()
	bucket := &pausedBucket{Bucket: s.aws(nil)}
	guard, err := fence.OpenS3(ctx, bucket, "probe")
	if err == nil {
		bucket.armed = true
		err = guard.Put(ctx, 33, os.Getenv(writerKey), []byte("late"))
	}
	fmt.Println("done", errors.Is(err, fence.ErrStale), err)
}

// pausedBucket waits for a line of input after its next read.
type pausedBucket struct {
	fence.Bucket
	armed bool
}

func (b *pausedBucket) Get(ctx context.Context, key string) ([]byte, string, error) {
	body, etag, err := b.Bucket.Get(ctx, key)
	if b.armed {
		b.armed = false
		fmt.Println("paused")
		bufio.NewReader(os.Stdin).ReadString('\n')
	}
	return body, etag, err
}

// Goal: a process that is paused between its read and its write does not overwrite what another
// process has written meanwhile, or has only locked.
func TestAPausedProcessOverwritesNothing(t *testing.T) {
	t.Parallel()
	guard := openS3(t, theServer.aws(nil))
	for what, newer := range map[string]func(key string) error{
		"the newer one writes":          func(key string) error { return guard.Put(t.Context(), 34, key, []byte("new")) },
		"the newer one writes the same": func(key string) error { return guard.Put(t.Context(), 34, key, []byte("old")) },
		"the newer one only locks":      func(key string) error { return guard.Pass(t.Context(), 34, key) },
	} {
		t.Run(what, func(t *testing.T) {
			key := newKey(t)
			must(t, guard.Put(t.Context(), 33, key, []byte("old")))
			say, resume := startWriter(t, key)
			must(t, newer(key))
			value, token, err := guard.Get(t.Context(), key)
			must(t, err)
			resume()
			if got := say(); !strings.HasPrefix(got, "done true ") {
				t.Errorf("the paused process says %q, want that it was refused as stale", got)
			}
			wantObject(t, guard, key, string(value), token)
		})
	}
}

// startWriter starts another process that writes an object, and returns when it is paused. Say
// returns its next line.
func startWriter(t *testing.T, key string) (say func() string, resume func()) {
	t.Helper()
	process := exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), writerSocket+"="+theServer.socket, writerKey+"="+key)
	process.Stderr = os.Stderr
	in, err := process.StdinPipe()
	must(t, err)
	out, err := process.StdoutPipe()
	must(t, err)
	must(t, process.Start())
	t.Cleanup(func() { in.Close(); process.Wait() })
	lines := bufio.NewReader(out)
	say = func() string {
		line, err := lines.ReadString('\n')
		must(t, err)
		return line
	}
	if got := say(); got != "paused\n" {
		t.Fatalf("the other process says %q, want that it is paused", got)
	}
	return say, func() { must(t, in.Close()) }
}
