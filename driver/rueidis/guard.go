package rueidis

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
)

// What a reply may claim. A server that is in its right mind stays far below.
const (
	maxElements = 1 << 22 // of an array, and of all unfinished arrays together
	maxDepth    = 32      // of arrays within arrays
	maxBytes    = 512 << 20
	maxFirst    = 512 // bytes of a value's first text that are looked at
)

// errLie is matched by the reason why a connection ends whose server sent what no server
// sends.
var errLie = errors.New("not a Redis reply")

// guard is a connection whose replies are checked before rueidis reads them. rueidis
// trusts their lengths: a negative or a giant one ends the process, and so does a reply
// that nobody asked for. Where there are subscriptions, a ledger says what is asked for.
type guard struct {
	net.Conn
	replies  stream
	requests tally
	paired   bool // there is at most one reply to each request
	sent     atomic.Int64
	broken   error
}

func newGuard(conn net.Conn, paired bool) *guard {
	g := &guard{Conn: conn, paired: paired}
	if !paired {
		var l ledger
		g.requests.report, g.replies.report = l.sent, l.came
	}
	return g
}

// Read passes bytes on unless they are part of a lie.
func (g *guard) Read(p []byte) (int, error) {
	if g.broken != nil {
		return 0, g.broken
	}
	n, err := g.Conn.Read(p)
	if g.broken = g.replies.take(p[:n]); g.broken == nil && g.paired && (g.replies.whole > g.sent.Load() || g.replies.pushed) {
		g.broken = fmt.Errorf("%w: more replies than requests", errLie)
	}
	if g.broken != nil {
		g.Close()
		return 0, g.broken
	}
	return n, err
}

// Write counts the requests.
func (g *guard) Write(p []byte) (int, error) {
	g.sent.Store(g.requests.take(p))
	return g.Conn.Write(p)
}

// tally counts requests as rueidis writes them: arrays of texts, in pieces of any size. It
// trusts them: a stream would cost a pair of Lock and Unlock 1 µs.
type tally struct {
	whole  int64
	size   int // words of the request that has begun
	words  int // those of them that are still to come
	number int // of the line so far
	skip   int // bytes of a text still to come

	report func(name string, arguments int) // of a request that has begun; may be nil
	name   []byte
}

// take returns how many requests there have been.
func (t *tally) take(b []byte) int64 {
	for i := 0; i < len(b); i++ {
		if t.skip > 0 {
			n := min(t.skip, len(b)-i)
			t.skip -= n
			if t.report != nil && t.words == t.size-1 {
				t.read(b[i : i+n])
			}
			i += n - 1
			continue
		}
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			t.number = 10*t.number + int(c-'0')
		case c != '\n':
		case t.words == 0: // the line was that of an array
			t.size, t.words, t.number = t.number, t.number, 0
		default:
			t.skip, t.number = t.number+len("\r\n"), 0
			if t.words--; t.words == 0 {
				t.whole++
			}
		}
	}
	return t.whole
}

// read takes a part of a request's name.
func (t *tally) read(part []byte) {
	if t.name = append(t.name, part...); t.skip == 0 {
		t.report(string(bytes.TrimSuffix(t.name, []byte("\r\n"))), t.size-1)
		t.name = t.name[:0]
	}
}

// stream follows values of the Redis protocol as they come, in pieces of any size.
type stream struct {
	whole int64 // values that are complete, pushes aside

	kind   byte // of the line that has begun, 0 in between
	push   bool // the value is a push
	pushed bool // there has been one
	minus  bool
	number int64
	size   int     // of the line so far
	last   byte    // of the line so far
	skip   int64   // bytes of a text still to come
	open   []int64 // elements still to come of each unfinished array
	sum    int64   // of open

	report func(kind byte, text string) error // of a value that is complete; may be nil
	top    byte                               // the kind of the value
	early  bool                               // its first text is not complete
	text   []byte                             // of that, the first maxFirst bytes
}

// take follows some bytes. The error matches errLie.
func (s *stream) take(b []byte) error {
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(s.skip, int64(len(b)))
			s.skip -= n
			s.read(b[:n])
			s.early = s.early && s.skip > 0
			b = b[n:]
			continue
		}
		if s.kind == 0 {
			if len(s.open) == 0 {
				s.top, s.early, s.text = b[0], s.report != nil, s.text[:0]
			}
			s.kind, s.minus, s.number, s.size, s.last = b[0], false, 0, 0, 0
			b = b[1:]
			continue
		}
		line, rest, ended := bytes.Cut(b, []byte{'\n'})
		if s.size += len(line); len(line) > 0 {
			s.last = line[len(line)-1]
		}
		if err := s.length(line); err != nil {
			return err
		}
		if strings.IndexByte("*~%>$=!", s.kind) < 0 {
			s.read(line)
		}
		if b = rest; !ended {
			return nil
		}
		if err := s.line(); err != nil {
			return err
		}
		s.kind = 0
	}
	return nil
}

// length reads a part of a line, if it says how long something is.
func (s *stream) length(line []byte) error {
	if bytes.IndexByte([]byte("*~%>$=!|"), s.kind) < 0 {
		return nil
	}
	for _, c := range line {
		switch {
		case c == '\r':
		case c == '-' && s.number == 0:
			s.minus = true
		case c < '0' || c > '9' || s.number > maxBytes:
			return fmt.Errorf("%w: a length of %q", errLie, line)
		default:
			s.number = 10*s.number + int64(c-'0')
		}
	}
	return nil
}

// line takes in a line that is complete. Where it is not written as it should be, rueidis
// would take something else for its end.
func (s *stream) line() error {
	if s.last != '\r' || s.kind == '_' && s.size != len("\r") || s.kind == '#' && s.size != len("t\r") {
		return fmt.Errorf("%w: a line of %d bytes after %q", errLie, s.size, s.kind)
	}
	null := s.minus && s.number == 1 && (s.kind == '*' || s.kind == '$')
	if s.minus && !null {
		return fmt.Errorf("%w: a negative length", errLie)
	}
	switch s.kind {
	case '*', '~', '>', '%':
		if null {
			break
		}
		if s.kind == '%' {
			s.number *= 2
		}
		s.push = s.push && len(s.open) > 0 || s.kind == '>' && len(s.open) == 0
		s.pushed = s.pushed || s.push
		if s.sum += s.number; s.sum > maxElements || len(s.open) == maxDepth {
			return fmt.Errorf("%w: too many elements", errLie)
		}
		if s.number > 0 {
			s.open = append(s.open, s.number)
			return nil
		}
	case '$', '=', '!':
		if s.number > maxBytes {
			return fmt.Errorf("%w: a text of %d bytes", errLie, s.number)
		}
		if !null {
			s.skip = s.number + int64(len("\r\n"))
		}
	case '+', '-', ':', '_', '#', ',', '(':
	default: // attributes as well, which servers do not send
		return fmt.Errorf("%w: a value that begins with %q", errLie, s.kind)
	}
	err := s.done()
	s.early = s.early && s.skip > 0
	return err
}

// read takes a part of the first text of a value.
func (s *stream) read(part []byte) {
	if s.early {
		s.text = append(s.text, part[:min(len(part), maxFirst-len(s.text))]...)
	}
}

// done takes note that a value is complete, and with it the arrays that it is the last
// element of.
func (s *stream) done() error {
	for last := len(s.open) - 1; last >= 0; last-- {
		s.sum--
		if s.open[last]--; s.open[last] > 0 {
			return nil
		}
		s.open = s.open[:last]
	}
	if !s.push {
		s.whole++
	}
	if s.push = false; s.report != nil {
		return s.report(s.top, strings.TrimRight(string(s.text), "\r\n"))
	}
	return nil
}
