package redistest_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv("REDISTEST_LEAK") != "" {
		leak = make(chan struct{})
	}
	redistest.Main(m)
}

// leak, when set, has TestLeavesAGoroutine do so.
var leak chan struct{}

func TestLeavesAGoroutine(t *testing.T) {
	if leak != nil {
		go func() { <-leak }()
	}
}

// TestMainReportsLeaks runs this test binary again, with a leak in it.
func TestMainReportsLeaks(t *testing.T) {
	t.Parallel()
	for _, leaks := range []string{"", "1"} {
		again := exec.Command(os.Args[0], "-test.run=^TestLeavesAGoroutine$")
		again.Env = append(os.Environ(), "REDISTEST_LEAK="+leaks)
		output, err := again.CombinedOutput()
		named := bytes.Contains(output, []byte("redistest_test.TestLeavesAGoroutine"))
		if failed := err != nil; failed != (leaks != "") || named != failed {
			t.Errorf("leaks=%q: %v\n%s", leaks, err, output)
		}
	}
}

// Goal: nobody is given the port that another has, whether or not its server is there. Method: more ports than could differ by
// chance, of which none is used.
func TestAPortIsGivenOnce(t *testing.T) {
	t.Parallel()
	given := make(map[int]bool)
	for range 500 {
		port := redistest.Must(redistest.FreePort())
		if given[port] {
			t.Fatalf("port %d was given twice", port)
		}
		given[port] = true
	}
}

func TestCLIReadsEveryKindOfReply(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Name(t)
	for _, c := range []struct {
		words []string
		want  any
	}{
		{[]string{"PING"}, "PONG"},
		{[]string{"GET", key}, nil},
		{[]string{"BLPOP", key, "0.001"}, nil},
		{[]string{"INCR", key}, int64(1)},
		{[]string{"GET", key}, "1"},
		{[]string{"EVAL", "return {1,'a',{false}}", "0"}, []any{int64(1), "a", []any{nil}}},
		{[]string{"LPOP", key}, redistest.ServerError("WRONGTYPE Operation against a key holding the wrong kind of value")},
		{[]string{"ECHO", "\r\n\x00"}, "\r\n\x00"},
	} {
		if got := server.CLI(t, c.words...); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q = %#v, want %#v", c.words, got, c.want)
		}
	}
}

func TestHelpersLookAtKeys(t *testing.T) {
	t.Parallel()
	server, name := redistest.Shared(t), redistest.Name(t)
	server.CLI(t, "SET", name+"b", "x", "PX", "60000")
	server.CLI(t, "SET", name+"a", "x")
	if got, want := server.Keys(t, name+"*"), []string{name + "a", name + "b"}; !reflect.DeepEqual(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
	if got := server.PTTL(t, name+"b"); got <= 0 || got > time.Minute {
		t.Errorf("time to live %v, want a minute at most", got)
	}
	if got := server.PTTL(t, name+"a"); got != -time.Millisecond {
		t.Errorf("without expiry: %v", got)
	}
	if got := server.PTTL(t, name+"none"); got != -2*time.Millisecond {
		t.Errorf("without a key: %v", got)
	}
}

func TestServerDiesAndComesBack(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--databases", "3")
	if got := server.CLI(t, "CONFIG", "GET", "databases"); !reflect.DeepEqual(got, []any{"databases", "3"}) {
		t.Errorf("the arguments were not used: %v", got)
	}
	server.CLI(t, "SET", "key", "value")
	server.Kill()
	if _, err := redistest.RoundTrip(server.Addr(), "PING"); err == nil {
		t.Error("a killed server answers")
	}
	server.Kill()
	server.Restart(t)
	if got := server.CLI(t, "GET", "key"); got != nil {
		t.Errorf("the restarted server is not empty: %v", got)
	}
}

func TestFrozenServerAnswersAfterThaw(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Freeze()
	answered := make(chan error)
	go func() {
		_, err := redistest.RoundTrip(server.Addr(), "PING")
		answered <- err
	}()
	select {
	case err := <-answered:
		t.Fatalf("a frozen server answers: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	server.Thaw()
	if err := <-answered; err != nil {
		t.Error(err)
	}
	server.Freeze() // and the end of the test must not wait for it
}

// TestServersEndWithTheTest looks for the process that a sub-test has left.
func TestServersEndWithTheTest(t *testing.T) {
	t.Parallel()
	var pid int
	var directory string
	t.Run("inner", func(t *testing.T) {
		server := redistest.Start(t)
		info := server.CLI(t, "INFO", "server").(string)
		_, rest, _ := strings.Cut(info, "process_id:")
		number, _, _ := strings.Cut(rest, "\r\n")
		pid, _ = strconv.Atoi(number)
		directory = server.CLI(t, "CONFIG", "GET", "dir").([]any)[1].(string)
	})
	if process, err := os.FindProcess(pid); pid == 0 || err == nil && process.Signal(syscall.Signal(0)) == nil {
		t.Errorf("process %d is alive", pid)
	}
	if _, err := os.Stat(directory); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its directory is still there: %v", err)
	}
}

func TestNamesAreUniqueAndPlain(t *testing.T) {
	t.Parallel()
	t.Run("a {b}:c/ü", func(t *testing.T) {
		a, b := redistest.Name(t), redistest.Name(t)
		if a == b {
			t.Errorf("%q twice", a)
		}
		if strings.ContainsAny(a, "{}:/ ü#") || !strings.HasPrefix(a, "TestNamesAreUniqueAndPlain-a") {
			t.Errorf("name %q", a)
		}
	})
}

// failure is a testing.TB that notes Fatalf instead of ending the test.
type failure struct {
	testing.TB
	happened bool
}

func (f *failure) Helper()               {}
func (f *failure) Fatalf(string, ...any) { f.happened = true }

func TestEventually(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	var patient, impatient failure
	redistest.Eventually(&patient, time.Minute, func() bool { return calls.Add(1) > 3 }, "four calls")
	if patient.happened || calls.Load() != 4 {
		t.Errorf("failed=%v after %d calls", patient.happened, calls.Load())
	}
	begin := time.Now()
	redistest.Eventually(&impatient, 30*time.Millisecond, func() bool { return false }, "the impossible")
	if took := time.Since(begin); !impatient.happened || took < 30*time.Millisecond {
		t.Errorf("failed=%v after %v", impatient.happened, took)
	}
}

// dial makes one connection that ends with the test.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn := redistest.Must(net.Dial("tcp", address))
	t.Cleanup(func() { conn.Close() })
	return conn
}

// A reply that is longer than the reader's buffer, in which nearly every byte looks like the start of an error.
func TestCLIReadsLongReplies(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	key, value := redistest.Name(t), strings.Repeat("-", 1000)
	want := make([]any, 50)
	for i := range want {
		server.CLI(t, "RPUSH", key, value)
		want[i] = value
	}
	if got := server.CLI(t, "LRANGE", key, "0", "-1"); !reflect.DeepEqual(got, want) {
		t.Errorf("the reply, a %T, is not the values of the list", got)
	}
}
