package protocol

// Messages is the way in which a client announces a release, which depends on who
// listens. Each announcement is a plan: commands and payloads in turn, which the scripts
// carry out one after another on the channel.
type Messages uint8

const (
	// Plain is the way without a cluster: PUBLISH.
	Plain Messages = 0
	// Sharded is the way in a cluster of Redis 7: SPUBLISH, which Java peers listen for
	// since Redisson 3.22.
	Sharded Messages = 1 << iota
	// Copied adds, in a cluster, a PUBLISH for older Java peers. See IsCopy.
	Copied
	// Doubled adds to the end of a write hold the payload that Java peers before
	// Redisson 3.10.3 listen for.
	Doubled
)

// Unlocked is the plan that announces a release with the payload "0": one waiter of each
// process may try. Java peers fail to decode a payload that is not a decimal number.
func (m Messages) Unlocked() string {
	switch m &^ Doubled {
	case Sharded:
		return "SPUBLISH 0"
	case Sharded | Copied:
		return "SPUBLISH 0 PUBLISH 00"
	}
	return "PUBLISH 0"
}

// ReadUnlocked is the plan that announces the end of a write hold with the payload "1":
// all readers of each process may try.
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

// IsCopy says that a message repeats, for older Java peers, one that was sent in the same
// breath. Its payload has a zero too many in front, which Java reads as the same number
// (Long.valueOf), so that those who hear both can tell which to leave out.
func IsCopy(payload string) bool {
	return len(payload) > 1 && payload[0] == '0'
}
