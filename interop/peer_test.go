//go:build interop

package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redlatch/redlatch/internal/redistest"
)

// peer takes commands: the Java probe, a process of this library, or this process.
type peer interface {
	// send starts a command. The answer comes once, with an error if the peer died.
	send(c command) <-chan answer
	language() string
}

// patience bounds a command that is expected to end by itself.
const patience = 90 * time.Second

const died = "the peer died"

// latchEnv makes the test binary a process that takes commands.
const latchEnv = "REDLATCH_INTEROP_LATCHES"

func TestMain(m *testing.M) {
	if os.Getenv(latchEnv) != "" {
		serve(newLatches(), os.Stdin, os.Stdout)
		os.Exit(0)
	}
	redistest.Main(m)
}

// serve answers commands until the input ends.
func serve(l *latches, in io.Reader, out io.Writer) {
	var mu sync.Mutex
	encode := json.NewEncoder(out)
	for d := json.NewDecoder(in); ; {
		var c command
		if d.Decode(&c) != nil {
			return
		}
		go func() {
			a := l.run(c)
			mu.Lock()
			defer mu.Unlock()
			_ = encode.Encode(a)
		}()
	}
}

// here is this process as a peer.
type here struct{ latches *latches }

func (here) language() string { return "Go" }

func (h here) send(c command) <-chan answer {
	got := make(chan answer, 1)
	go func() { got <- h.latches.run(c) }()
	return got
}

// process is a peer that can be killed.
type process struct {
	tongue string
	cmd    *exec.Cmd
	input  io.WriteCloser
	stderr bytes.Buffer // read it after exited is closed
	exited chan struct{}

	mu      sync.Mutex
	lastID  int64
	pending map[int64]chan answer
	dead    bool
}

func (p *process) language() string { return p.tongue }

// startJava starts a probe with one release of Redisson, for the length of the test.
func startJava(t testing.TB, version string) *process {
	t.Helper()
	dir := "java/target/" + version
	path, err := os.ReadFile(dir + "/classpath")
	if err != nil {
		t.Fatalf("the probe is not built (make interop does it): %v", err)
	}
	return startProcess(t, "Java", exec.Command("java",
		"-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto",
		"-cp", dir+"/classes:"+strings.TrimSpace(string(path)), "redlatch.interop.Probe"))
}

// startNode starts a probe with node-redisson.
func startNode(t testing.TB) *process {
	t.Helper()
	const packages = "node/target/node_modules"
	if _, err := os.Stat(packages); err != nil {
		t.Fatalf("the probe is not built (make interop does it): %v", err)
	}
	cmd := exec.Command("node", "node/probe.js")
	cmd.Env = append(os.Environ(), "NODE_PATH="+packages)
	return startProcess(t, "Node", cmd)
}

// startLatches starts a process of this library.
func startLatches(t testing.TB) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), latchEnv+"=1")
	return startProcess(t, "Go", cmd)
}

func startProcess(t testing.TB, tongue string, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{tongue: tongue, cmd: cmd, exited: make(chan struct{}), pending: make(map[int64]chan answer)}
	input := redistest.Must(cmd.StdinPipe())
	p.input = input
	output := redistest.Must(cmd.StdoutPipe())
	cmd.Stderr = &p.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.read(output)
	t.Cleanup(func() {
		p.kill()
		if t.Failed() && p.stderr.Len() > 0 {
			t.Logf("%s wrote: %.4000s", tongue, p.stderr.String())
		}
	})
	return p
}

// read hands out the answers, and after the last of them waits for the process.
func (p *process) read(output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			continue
		}
		p.mu.Lock()
		waiting := p.pending[a.ID]
		delete(p.pending, a.ID)
		p.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.dead = true
	for id, waiting := range p.pending {
		waiting <- answer{ID: id, Error: died}
	}
	clear(p.pending)
	p.mu.Unlock()
	close(p.exited)
}

func (p *process) send(c command) <-chan answer {
	got := make(chan answer, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		got <- answer{Error: died}
		return got
	}
	p.lastID++
	c.ID = p.lastID
	p.pending[c.ID] = got
	line, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	// A write to a process that has died fails, and read answers in its stead.
	_, _ = p.input.Write(append(line, '\n'))
	return got
}

// kill ends the process without a chance to clean up, and waits until it is gone.
func (p *process) kill() {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	<-p.exited
}

// actor is one thread of a client of a peer.
type actor struct {
	peer   peer
	client string
	number int
}

var clientNumber atomic.Int64

// settings of a client.
type settings struct {
	watchdog time.Duration
	fairWait time.Duration
	url      string // of the servers; the shared one by default

	tokenClock bool // Config.TokenClock
}

// newClient opens a client on a peer for the length of the test and returns its thread 1.
func newClient(t testing.TB, p peer, s settings) actor {
	t.Helper()
	if s.url == "" {
		s.url = redistest.Shared(t).URL()
	}
	a := openOn(t, p, s.url, s)
	t.Cleanup(func() { <-a.start(command{Verb: "close"}) })
	return a
}

func openOn(t testing.TB, p peer, url string, s settings) actor {
	t.Helper()
	a := actor{p, fmt.Sprint("client", clientNumber.Add(1)), 1}
	got := a.do(t, command{
		Verb: "open", Address: url, TokenClock: s.tokenClock,
		Watchdog: s.watchdog.Milliseconds(), FairWait: s.fairWait.Milliseconds(),
	})
	if !got.OK {
		t.Fatalf("open a client in %s: %s", p.language(), got.Error)
	}
	return a
}

// thread is another thread of the same client.
func (a actor) thread(number int) actor {
	a.number = number
	return a
}

func (a actor) String() string {
	return fmt.Sprintf("%s %s thread %d", a.peer.language(), a.client, a.number)
}

func (a actor) start(c command) <-chan answer {
	c.Client, c.Thread = a.client, a.number
	return a.peer.send(c)
}

// do runs a command to its end.
func (a actor) do(t testing.TB, c command) answer {
	t.Helper()
	return a.await(t, c, a.start(c))
}

// await waits for the answer to a command.
func (a actor) await(t testing.TB, c command, got <-chan answer) answer {
	t.Helper()
	select {
	case answer := <-got:
		return answer
	case <-time.After(patience):
		t.Fatalf("%v: %s of %s %q does not end", a, c.Verb, c.Kind, c.Name)
		panic("unreachable")
	}
}

// must runs a command that has to succeed.
func (a actor) must(t testing.TB, c command) answer {
	t.Helper()
	got := a.do(t, c)
	if !got.OK || got.Error != "" {
		t.Fatalf("%v: %s of %s %q is %+v", a, c.Verb, c.Kind, c.Name, got)
	}
	return got
}

// mustNot runs a command that has to answer no.
func (a actor) mustNot(t testing.TB, c command) {
	t.Helper()
	if got := a.do(t, c); got.OK || got.Error != "" {
		t.Fatalf("%v: %s of %s %q is %+v, want no", a, c.Verb, c.Kind, c.Name, got)
	}
}

// lost runs an unlock of something that is not held any more.
func (a actor) lost(t testing.TB, c command) {
	t.Helper()
	if got := a.do(t, c); got.Error != lost {
		t.Errorf("%v: %s of %s %q is %+v, want lost", a, c.Verb, c.Kind, c.Name, got)
	}
}

// parked waits until the actor sleeps for a message.
func (a actor) parked(t testing.TB) {
	t.Helper()
	redistest.Eventually(t, 20*time.Second, func() bool { return a.do(t, command{Verb: "parked"}).OK }, a.String()+" is parked")
}
