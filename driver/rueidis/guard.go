package rueidis

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
)

// What a reply may claim. A server that is in its right mind stays far below.
const (
	maxElements = 1 << 22 // of an array, and of all unfinished arrays together
	maxDepth    = 32      // of arrays within arrays
	maxBytes    = 512 << 20
)

// errLie is matched by the reason why a connection ends whose server sent what no server
// sends.
var errLie = errors.New("not a Redis reply")

// guard is a connection whose replies are checked before rueidis reads them. rueidis
// trusts their lengths: a negative or a giant one ends the process, and so does a reply
// that nobody asked for.
type guard struct {
	net.Conn
	replies  stream
	requests tally
	paired   bool // there is at most one reply to each request
	sent     atomic.Int64
	broken   error
}

func newGuard(conn net.Conn, paired bool) *guard { return &guard{Conn: conn, paired: paired} }

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
	if g.paired {
		g.sent.Store(g.requests.take(p))
	}
	return g.Conn.Write(p)
}

// tally counts requests as rueidis writes them: arrays of texts, in pieces of any size. It
// trusts them: a stream would cost a pair of Lock and Unlock 1 µs.
type tally struct {
	whole  int64
	words  int // of the request that has begun, still to come
	number int // of the line so far
	skip   int // bytes of a text still to come
}

// take returns how many requests there have been.
func (t *tally) take(b []byte) int64 {
	for i := 0; i < len(b); i++ {
		if t.skip > 0 {
			n := min(t.skip, len(b)-i)
			t.skip -= n
			i += n - 1
			continue
		}
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			t.number = 10*t.number + int(c-'0')
		case c != '\n':
		case t.words == 0: // the line was that of an array
			t.words, t.number = t.number, 0
		default:
			t.skip, t.number = t.number+len("\r\n"), 0
			if t.words--; t.words == 0 {
				t.whole++
			}
		}
	}
	return t.whole
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
}

// take follows some bytes. The error matches errLie.
func (s *stream) take(b []byte) error {
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(s.skip, int64(len(b)))
			s.skip -= n
			b = b[n:]
			continue
		}
		if s.kind == 0 {
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
	s.done()
	return nil
}

// done takes note that a value is complete, and with it the arrays that it is the last
// element of.
func (s *stream) done() {
	for last := len(s.open) - 1; last >= 0; last-- {
		s.sum--
		if s.open[last]--; s.open[last] > 0 {
			return
		}
		s.open = s.open[:last]
	}
	if !s.push {
		s.whole++
	}
	s.push = false
}
