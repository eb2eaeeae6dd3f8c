package single

import (
	"bytes"
	"fmt"
	"strings"
)

// What a reply may claim. The replies of a working server stay far below.
const (
	maxElements = 1 << 22 // of an array, and of all unfinished arrays together
	maxDepth    = 32      // of arrays within arrays
	maxBytes    = 512 << 20
	maxFirst    = 512 // bytes of a value's first string that are read
)

// replyScanner follows values of the Redis protocol as they come, in pieces of any size.
type replyScanner struct {
	whole int64 // values that are complete, without pushes

	kind   byte // of the line that has begun, 0 in between
	push   bool // the value is a push
	pushed bool // there has been one
	minus  bool
	number int64
	size   int     // of the line so far
	last   byte    // of the line so far
	skip   int64   // bytes of a string still to come
	open   []int64 // elements still to come of each unfinished array
	sum    int64   // of open

	report func(kind byte, text string) error // of a value that is complete; may be nil
	top    byte                               // the kind of the value
	early  bool                               // its first string is not complete
	text   []byte                             // of that, the first maxFirst bytes
}

// scan follows some bytes. The error matches errMalformed.
func (s *replyScanner) scan(b []byte) error {
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
		if strings.IndexByte("*~%>$=!|", s.kind) < 0 {
			s.read(line)
		} else if err := s.length(line); err != nil {
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

// length reads a part of a line that says how long something is.
func (s *replyScanner) length(line []byte) error {
	for _, c := range line {
		switch {
		case c == '\r':
		case c == '-' && s.number == 0:
			s.minus = true
		case c < '0' || c > '9' || s.number > maxBytes:
			return fmt.Errorf("%w: a length of %q", errMalformed, line)
		default:
			s.number = 10*s.number + int64(c-'0')
		}
	}
	return nil
}

// line takes in a line that is complete. If its form is wrong, rueidis would take something
// else for its end.
func (s *replyScanner) line() error {
	if s.last != '\r' || s.kind == '_' && s.size != len("\r") || s.kind == '#' && s.size != len("t\r") {
		return fmt.Errorf("%w: a line of %d bytes after %q", errMalformed, s.size, s.kind)
	}
	null := s.minus && s.number == 1 && (s.kind == '*' || s.kind == '$')
	if s.minus && !null {
		return fmt.Errorf("%w: a negative length", errMalformed)
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
			return fmt.Errorf("%w: too many elements", errMalformed)
		}
		if s.number > 0 {
			s.open = append(s.open, s.number)
			return nil
		}
	case '$', '=', '!':
		if s.number > maxBytes {
			return fmt.Errorf("%w: a string of %d bytes", errMalformed, s.number)
		}
		if !null {
			s.skip = s.number + int64(len("\r\n"))
		}
	case '+', '-', ':', '_', '#', ',', '(':
	default: // attributes as well, which servers do not send
		return fmt.Errorf("%w: a value that begins with %q", errMalformed, s.kind)
	}
	err := s.done()
	s.early = s.early && s.skip > 0
	return err
}

// read takes a part of the first string of a value.
func (s *replyScanner) read(part []byte) {
	if s.early {
		s.text = append(s.text, part[:min(len(part), maxFirst-len(s.text))]...)
	}
}

// done takes note that a value is complete, and with it the arrays that it is the last
// element of.
func (s *replyScanner) done() error {
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
