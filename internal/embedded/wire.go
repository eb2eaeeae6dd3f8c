package embedded

import (
	"bufio"
	"bytes"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// wire is a connection to a server without a network.
type wire struct {
	server  *miniredis.Miniredis
	peer    *server.Peer
	buffer  bytes.Buffer
	replies *bufio.Reader // of buffer
}

func newWire(m *miniredis.Miniredis) *wire {
	w := &wire{server: m}
	w.peer = server.NewPeer(bufio.NewWriter(&w.buffer))
	w.replies = bufio.NewReader(&w.buffer)
	return w
}

// ask carries out a command.
func (w *wire) ask(words []string) (any, error) {
	w.buffer.Reset()
	w.replies.Reset(&w.buffer)
	w.server.Server().Dispatch(w.peer, words)
	w.peer.Flush()
	return server.ParseReply(w.replies)
}
