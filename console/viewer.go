package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// viewer is one browser that looks. The feed fills its queue; its request empties it.
type viewer struct {
	queue   chan message
	dropped chan struct{} // closed when it is too slow, or the console ends

	// How things stood when it came.
	rows    []json.RawMessage
	extent  extent
	trouble *trouble
}

// message is one event of the stream, ready to be sent. Viewers share it.
type message []byte

// The bounds of one viewer. What it has not taken is shared with the others and dropped with it.
const (
	queueLength = 32
	writeWithin = 10 * time.Second
	beatEvery   = 5 * time.Second // the page takes three of these for a lost connection
	rowsAtOnce  = 200             // in one message
)

func newViewer() *viewer {
	return &viewer{queue: make(chan message, queueLength), dropped: make(chan struct{})}
}

// offer puts a message into the queue. It drops the viewer and returns false if there is no room.
// Its caller holds the mutex of the feed.
func (v *viewer) offer(m message) bool {
	select {
	case v.queue <- m:
		return true
	default:
		v.drop()
		return false
	}
}

func (v *viewer) drop() { close(v.dropped) }

// newMessage is an event with a kind and what json makes of data.
func newMessage(kind string, data any) message {
	text, err := json.Marshal(data)
	if err != nil {
		return message(": " + kind + " cannot be written\n\n") // of these types there is none
	}
	return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", kind, text)
}

// greeting is the first message: what the page is to know of this console.
type greeting struct {
	Title  string `json:"title"`
	Unlock bool   `json:"unlock"` // locks can be taken away
	Total  int    `json:"total"`  // rows to come
	At     int64  `json:"at"`
	extent
}

// events streams the table and then its changes, until the viewer goes or is dropped.
func (c *Console) events(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead {
		return // nobody would read the stream
	}
	v, err := c.feed.join()
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	defer c.feed.leave(v)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect it
	s := stream{w: w, rc: http.NewResponseController(w)}
	defer s.end()
	if s.send(nil); s.err != nil {
		refuse(w, http.StatusInternalServerError, "The server around the console cannot stream: "+s.err.Error())
		return
	}
	if !c.greet(&s, v) {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for s.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-v.dropped:
			return
		case m := <-v.queue:
			s.send(m)
		case <-beat.C:
			s.send(newMessage("beat", map[string]int64{"at": time.Now().UnixMilli()}))
		}
	}
}

// greet sends how things stand.
func (c *Console) greet(s *stream, v *viewer) bool {
	s.send(newMessage("hello", greeting{
		Title: shownText(c.options.Title), Unlock: c.options.Unlock != nil, Total: len(v.rows), At: time.Now().UnixMilli(), extent: v.extent,
	}))
	for rows := v.rows; len(rows) > 0; rows = rows[min(rowsAtOnce, len(rows)):] {
		s.send(newMessage("rows", change{At: time.Now().UnixMilli(), Set: rows[:min(rowsAtOnce, len(rows))], extent: v.extent}))
	}
	v.rows = nil
	s.send(newMessage("ready", map[string]int64{"at": time.Now().UnixMilli()}))
	if v.trouble != nil {
		s.send(v.trouble.message())
	}
	return s.err == nil
}

// stream writes messages, each within its time.
type stream struct {
	w   http.ResponseWriter
	rc  *http.ResponseController
	err error
}

func (s *stream) send(m message) {
	if s.err != nil {
		return
	}
	_ = s.rc.SetWriteDeadline(time.Now().Add(writeWithin)) // not every writer can
	if len(m) > 0 {                                        // else only the headers are sent
		_, s.err = s.w.Write(m)
	}
	if s.err == nil {
		s.err = s.rc.Flush()
	}
}

// end leaves no deadline behind: the connection may carry other requests, of other handlers.
func (s *stream) end() { _ = s.rc.SetWriteDeadline(time.Time{}) }
