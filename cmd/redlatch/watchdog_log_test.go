//go:build unix

package main

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/redlatch/redlatch/internal/redistest"
)

// What becomes of a watchdog when something is wrong with its log.

// piped is a dog whose log goes into a named pipe.
type piped struct {
	*dog
	path   string
	reader *os.File
}

// startPiped starts one, and reads its log until it runs.
func startPiped(t *testing.T, url string) *piped {
	t.Helper()
	p := &piped{dog: newDog(t, url), path: filepath.Join(t.TempDir(), "log")}
	if err := syscall.Mkfifo(p.path, 0o600); err != nil {
		t.Fatal(err)
	}
	p.reader = p.open(os.O_RDWR) // which does not wait for a writer
	writer := p.open(os.O_WRONLY)
	p.command.Stderr = writer
	p.start()
	writer.Close()
	for lines := bufio.NewScanner(p.reader); !strings.Contains(p.log.String(), "watchdog runs") && lines.Scan(); {
		io.WriteString(&p.log, lines.Text()+"\n")
	}
	return p
}

func (p *piped) open(how int) *os.File {
	p.t.Helper()
	file := redistest.Must(os.OpenFile(p.path, how, 0))
	p.t.Cleanup(func() { file.Close() })
	return file
}

// Goal: a watchdog goes on when nobody reads its log any more. Method: the reader leaves, or
// stays and lets the pipe run full. Then the server leaves, of which a line is to be written.
func TestAWatchdogDoesNotNeedAReaderOfItsLog(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(p *piped){
		"gone": func(p *piped) { p.reader.Close() },
		"slow": func(p *piped) {
			file, err := syscall.Open(p.path, syscall.O_WRONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				p.t.Fatal(err)
			}
			defer syscall.Close(file)
			for size := 4096; size > 0; size /= 2 {
				for err = nil; err == nil; {
					_, err = syscall.Write(file, bytes.Repeat([]byte("\n"), size))
				}
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			p := startPiped(t, server.URL())
			spoil(p)
			server.Kill()
			p.awaitReady(false)
			server.Restart(t)
			p.awaitReady(true)
			p.signal(syscall.SIGTERM)
			p.end(0)
		})
	}
}

// Goal: what a server answers before there is a connection forges no line of the log, nor fills
// it. Method: a server that answers everything with an error of 300 kB.
func TestWhatAServerAnswersAtFirstIsShortInTheLog(t *testing.T) {
	t.Parallel()
	listener := redistest.Must(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go refuseAll(conn)
		}
	}()
	d := startDog(t, "redis://"+listener.Addr().String(), "--log", "json")
	d.find("no connection to Redis yet.*all is well")
	d.signal(syscall.SIGTERM)
	d.end(0)
	for line := range strings.Lines(d.log.String()) {
		if len(line) > 5000 {
			t.Errorf("a line has %d bytes", len(line))
		}
		if strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("a line is not printable: %.300q", line)
		}
	}
}

// refuseAll answers each request with an error that nobody should print as it is.
func refuseAll(conn net.Conn) {
	defer conn.Close()
	answer := "-ERR \u009b2J\u202e all is well " + strings.Repeat("x", 300_000) + "\r\n"
	for requests := bufio.NewScanner(conn); requests.Scan(); {
		if strings.HasPrefix(requests.Text(), "*") {
			if _, err := io.WriteString(conn, answer); err != nil {
				return
			}
		}
	}
}
