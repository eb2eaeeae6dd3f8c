package protocol

import "strings"

// Messages says how a client announces a release. That depends on which peers listen. Each
// announcement is a plan: commands and payloads alternating, which the scripts carry out one after
// another on the channel.
type Messages uint8

const (
	// Plain announces by PUBLISH, outside a cluster.
	Plain Messages = 0
	// Sharded announces by SPUBLISH, in a cluster of Redis 7. Java peers listen for that since
	// Redisson 3.22.
	Sharded Messages = 1 << iota
	// Copied adds, in a cluster, a PUBLISH for older Java peers. See IsCopy.
	Copied
	// Doubled adds to the end of a write hold the payload that Java peers before
	// Redisson 3.10.3 listen for.
	Doubled
)

// Unlocked is the plan that announces a release with the payload "0": one waiter of each process
// may try. A payload is always a decimal number, because Java peers cannot decode anything else.
func (m Messages) Unlocked() string {
	switch m &^ Doubled {
	case Sharded:
		return "SPUBLISH 0"
	case Sharded | Copied:
		return "SPUBLISH 0 PUBLISH 00"
	}
	return "PUBLISH 0"
}

// ReadUnlocked is the plan that announces the end of a write hold with the payload "1": all
// readers of each process may try.
func (m Messages) ReadUnlocked() string {
	switch m {
	case Plain | Doubled:
		return "PUBLISH 1 PUBLISH 00"
	case Sharded:
		return "SPUBLISH 1"
	case Sharded | Copied:
		return "SPUBLISH 1 PUBLISH 01"
	case Sharded | Copied | Doubled:
		return "SPUBLISH 1 PUBLISH 01 PUBLISH 00"
	}
	return "PUBLISH 1"
}

// Recalled is the plan that tells a process which listens that an owner of it is asked to give a lock
// back. Java peers ignore it.
func (m Messages) Recalled() string {
	if m&Sharded != 0 {
		return "SPUBLISH " + recallPayload
	}
	return "PUBLISH " + recallPayload
}

// recallPayload is the message of Recalled. On the channel of a semaphore it is a number of permits.
const recallPayload = "2"

// IsRecall says that a message is one of Recalled.
func IsRecall(channel, payload string) bool {
	return payload == recallPayload && (strings.HasPrefix(channel, lockChannel) || strings.HasPrefix(channel, rwChannel))
}

// IsCopy says that a message is a copy for older Java peers of one that was sent with it. Its
// payload has an additional zero in front, which Java reads as the same number (Long.valueOf).
// So a subscriber that receives both can ignore the copy.
func IsCopy(payload string) bool {
	return len(payload) > 1 && payload[0] == '0'
}
