package bucket_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/minio/minio-go/v7"
	miniocredentials "github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/redlatch/redlatch/bucket"
	"github.com/redlatch/redlatch/fence"
)

// The keys of the server, which only this test can reach.
const (
	accessKey = "test"
	secretKey = "testtest"
)

// bucketName is the bucket of every test.
const bucketName = "stock"

// server is where a server of S3 listens. All tests share one.
type server struct{ socket string }

// serverEnv names the server: versitygw, a process that serves a directory and takes minutes to build.
// Default: gofakes3, which serves from the memory of this process.
const serverEnv = "REDLATCH_S3"

// startServer starts a server on a socket in this folder. Stop ends it.
func startServer(dir string) (s server, stop func(), err error) {
	s = server{socket: filepath.Join(dir, "s3.sock")}
	switch name := os.Getenv(serverEnv); name {
	case "", "gofakes3":
		stop, err = serveMemory(s.socket)
	case "versitygw":
		stop, err = serveDirectory(s.socket, filepath.Join(dir, "data"))
	default:
		err = fmt.Errorf("%s is %q, neither gofakes3 nor versitygw", serverEnv, name)
	}
	if err != nil {
		return server{}, nil, err
	}
	if err := s.awaitReady(); err != nil {
		stop()
		return server{}, nil, err
	}
	return s, stop, nil
}

// serveMemory runs gofakes3 within this process.
func serveMemory(socket string) (stop func(), err error) {
	backend := s3mem.New()
	if err := backend.CreateBucket(bucketName); err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	s := http.Server{Handler: gofakes3.New(backend).Server(), ReadHeaderTimeout: 10 * time.Second}
	go s.Serve(listener)
	return func() { s.Close() }, nil
}

// serveDirectory runs versitygw on a directory.
func serveDirectory(socket, data string) (stop func(), err error) {
	program, err := exec.Command("go", "tool", "-n", "versitygw").Output()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(data, bucketName), 0o700); err != nil {
		return nil, err
	}
	// The shell ends the server also if this process is killed: then its input ends.
	command := exec.Command("sh", "-c", `"$@" & read -r _; kill $!; wait`, "sh",
		strings.TrimSpace(string(program)), "--port", socket, "--access", accessKey, "--secret", secretKey, "--quiet", "posix", data)
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	return func() { input.Close(); command.Wait() }, nil
}

// awaitReady waits until the server has the bucket.
func (s server) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for {
		_, _, err := s.aws(nil).Get(ctx, "none")
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// transport connects to the server.
func (s server) transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.socket)
	}}
}

// aws is the bucket through aws-sdk-go-v2. Fault, if any, stands between it and the server.
func (s server) aws(fault *lostReply, options ...func(*s3.Options)) bucket.AWS {
	client := s3.New(s3.Options{
		BaseEndpoint: aws.String("http://s3.test"),
		UsePathStyle: true,
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
		HTTPClient:   &http.Client{Transport: fault.on(s.transport())},
	}, options...)
	return bucket.AWS{Client: client, Bucket: bucketName}
}

// minio is the bucket through minio-go.
func (s server) minio(t *testing.T, fault *lostReply) bucket.MinIO {
	t.Helper()
	client, err := minio.New("s3.test", &minio.Options{
		Creds:     miniocredentials.NewStaticV4(accessKey, secretKey, ""),
		Region:    "us-east-1",
		Transport: fault.on(s.transport()),
	})
	must(t, err)
	return bucket.MinIO{Client: client, Bucket: bucketName}
}

// lostReply is a network that loses the reply to one write, after the server has answered.
type lostReply struct {
	mu     sync.Mutex
	armed  bool
	next   http.RoundTripper
	writes int
}

func (l *lostReply) on(next http.RoundTripper) http.RoundTripper {
	if l == nil {
		return next
	}
	l.next = next
	return l
}

// arm has the reply to the next write be lost.
func (l *lostReply) arm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.armed, l.writes = true, 0
}

func (l *lostReply) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	l.mu.Lock()
	defer l.mu.Unlock()
	if request.Method == http.MethodPut {
		l.writes++
	}
	if err != nil || !l.armed || request.Method != http.MethodPut {
		return response, err
	}
	l.armed = false
	response.Body.Close()
	return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// newKey is a key that no other test has.
func newKey(t *testing.T) string { return t.Name() + "/" + rand.Text() }

func openS3(t *testing.T, b fence.Bucket) fence.S3 {
	t.Helper()
	guard, err := fence.OpenS3(t.Context(), b, "probe")
	must(t, err)
	return guard
}

func wantObject(t *testing.T, guard fence.S3, key, value string, token int64) {
	t.Helper()
	got, by, err := guard.Get(t.Context(), key)
	must(t, err)
	if string(got) != value || by != token {
		t.Errorf("%s is %q of token %d, want %q of token %d", key, got, by, value, token)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
