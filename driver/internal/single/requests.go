package single

import "bytes"

// requestScanner counts requests as rueidis writes them: arrays of strings, in pieces of any
// size. It does not check them: a replyScanner would cost a pair of Lock and Unlock 1 µs.
type requestScanner struct {
	whole  int64
	size   int // words of the request that has begun
	words  int // those of them that are still to come
	number int // of the line so far
	skip   int // bytes of a string still to come

	report func(name string, arguments int) // of a request that has begun; may be nil
	name   []byte
}

// scan returns how many requests there have been.
func (s *requestScanner) scan(b []byte) int64 {
	for i := 0; i < len(b); i++ {
		if s.skip > 0 {
			n := min(s.skip, len(b)-i)
			s.skip -= n
			if s.report != nil && s.words == s.size-1 {
				s.readName(b[i : i+n])
			}
			i += n - 1
			continue
		}
		switch c := b[i]; {
		case c >= '0' && c <= '9':
			s.number = 10*s.number + int(c-'0')
		case c != '\n':
		case s.words == 0: // the line was that of an array
			s.size, s.words, s.number = s.number, s.number, 0
		default:
			s.skip, s.number = s.number+len("\r\n"), 0
			if s.words--; s.words == 0 {
				s.whole++
			}
		}
	}
	return s.whole
}

// readName takes a part of a request's name.
func (s *requestScanner) readName(part []byte) {
	if s.name = append(s.name, part...); s.skip == 0 {
		s.report(string(bytes.TrimSuffix(s.name, []byte("\r\n"))), s.size-1)
		s.name = s.name[:0]
	}
}
