package redistest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answerWithin bounds one command of CLI.
const answerWithin = 5 * time.Second

// ServerError is an error reply, as CLI returns it.
type ServerError string

func (e ServerError) Error() string { return string(e) }

// CLI sends one command on a new connection and returns the reply: a string,
// an int64, nil, a []any of these, or a ServerError. A server that does not
// answer fails the test.
func (s *Server) CLI(t testing.TB, words ...string) any {
	t.Helper()
	reply, err := roundTrip(s.Addr(), words...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	return reply
}

// Try is CLI for a server that may hang up, as one does that sentinels reconfigure.
func (s *Server) Try(words ...string) (any, error) { return roundTrip(s.Addr(), words...) }

// Keys returns the keys that match a pattern, in order.
func (s *Server) Keys(t testing.TB, pattern string) []string {
	t.Helper()
	var keys []string
	for _, key := range s.CLI(t, "KEYS", pattern).([]any) {
		keys = append(keys, key.(string))
	}
	slices.Sort(keys)
	return keys
}

// PTTL returns how long a key will live: -1 ms where it has no end, and -2 ms
// where there is no such key.
func (s *Server) PTTL(t testing.TB, key string) time.Duration {
	t.Helper()
	return time.Duration(s.CLI(t, "PTTL", key).(int64)) * time.Millisecond
}

// roundTrip sends one command on a new connection.
func roundTrip(address string, words ...string) (any, error) {
	conn, err := net.DialTimeout("tcp", address, answerWithin)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(answerWithin))
	if _, err := conn.Write(request(words...)); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(conn))
}

// request is a command in the form in which clients send it.
func request(words ...string) []byte {
	raw := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, word := range words {
		raw = fmt.Appendf(raw, "$%d\r\n%s\r\n", len(word), word)
	}
	return raw
}

// readReply reads one reply of the RESP2 protocol.
func readReply(r *bufio.Reader) (any, error) {
	kind, text, err := readLine(r)
	if err != nil {
		return nil, err
	}
	switch kind {
	case '+':
		return text, nil
	case '-':
		return ServerError(text), nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		return nil, err
	case kind == ':':
		return number, nil
	case number < 0:
		return nil, nil
	case kind == '$':
		return readBulk(r, int(number))
	case kind == '*':
		return readArray(r, int(number))
	}
	return nil, fmt.Errorf("reply of unknown type %q", kind)
}

// readLine reads a type byte and the rest of its line.
func readLine(r *bufio.Reader) (kind byte, text string, err error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return 0, "", fmt.Errorf("empty line where a reply begins")
	}
	return line[0], line[1:], nil
}

func readBulk(r *bufio.Reader, length int) (any, error) {
	data := make([]byte, length+len("\r\n"))
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, err
	}
	return string(data[:length]), nil
}

func readArray(r *bufio.Reader, length int) (any, error) {
	values := make([]any, length)
	for i := range values {
		value, err := readReply(r)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}
