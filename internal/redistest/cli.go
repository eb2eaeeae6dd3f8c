package redistest

import (
	"bufio"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
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

// MainThread is the time of a processor that the server's main thread has needed, from its INFO. A busy machine does not make
// it longer.
func MainThread(t testing.TB, info string) (sum time.Duration) {
	t.Helper()
	for line := range strings.Lines(info) {
		if name, seconds, _ := strings.Cut(strings.TrimSpace(line), ":"); strings.HasSuffix(name, "_main_thread") {
			part, err := time.ParseDuration(seconds + "s")
			if err != nil {
				t.Fatal(err)
			}
			sum += part
		}
	}
	return sum
}

// roundTrip sends one command on a new connection.
func roundTrip(address string, words ...string) (any, error) {
	conn, err := net.DialTimeout("tcp", address, answerWithin)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(answerWithin))
	if err := proto.Write(conn, words); err != nil {
		return nil, err
	}
	return readReply(bufio.NewReader(conn))
}

// readReply reads one reply of the RESP2 protocol.
func readReply(r *bufio.Reader) (any, error) {
	head, err := r.Peek(1)
	if err != nil {
		return nil, err
	}
	isError := head[0] == '-' // head is the reader's buffer, which the next read overwrites
	reply, err := server.ParseReply(r)
	if isError {
		return ServerError(err.Error()), nil
	}
	return plain(reply), err
}

// plain is a reply in the types of CLI.
func plain(reply any) any {
	switch v := reply.(type) {
	case server.Simple:
		return string(v)
	case int:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return reply
}
