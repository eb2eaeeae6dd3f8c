package script

import (
	"strconv"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

var latchCountDownScript = load("latch_count_down", "announce", "counter", "record", "request")

// Latch builds the calls for one count-down latch.
type Latch struct {
	Key, Channel string // its count, and the channel on which it is announced
	Via          protocol.Messages
}

// NewLatch returns the latch of a name.
func NewLatch(name string, via protocol.Messages) Latch {
	return Latch{name, protocol.LatchChannel(name), via}
}

// Set gives the latch its count, if it has none. ReadSet reads the reply. Java peers take the
// announcement of a one for a closed latch.
func (l Latch) Set(n int, r Request) Call {
	return counterSetScript.call(2, l.Key, r.Record, r.number(), millis(r.Keep), strconv.Itoa(n), l.Channel, l.Via.Unlocked(), "1")
}

// CountDown lowers the count by one. ReadCountedDown reads the reply.
func (l Latch) CountDown(r Request) Call {
	return latchCountDownScript.call(2, l.Key, r.Record, r.number(), millis(r.Keep), l.Channel, l.Via.Unlocked())
}

// ReadCountedDown reads the reply of CountDown: the count that is left.
func ReadCountedDown(r driver.Reply) (int, error) { return readCount(latchCountDownScript, r) }

// Read reads the count. ReadCounter reads the reply.
func (l Latch) Read() Call { return counterReadScript.call(1, l.Key) }
