package protocol

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a version of Redisson: major, minor, patch.
type Release [3]int

var (
	// Before it, Java peers ignore the message that ends a write hold.
	listensForWriters = Release{3, 10, 3}
	// From it on, Java peers in a cluster of Redis 7 listen to the shard.
	listensToShards = Release{3, 22, 0}
	// Nobody's: later than all.
	noPeers = Release{1 << 20}
)

// ParsePeer reads the oldest release of Redisson among the peers, or "none". The empty text is a
// release of which only those are excluded that hardly anybody runs any more.
func ParsePeer(text string) (Release, error) {
	switch text {
	case "":
		return listensForWriters, nil
	case "none":
		return noPeers, nil
	}
	var r Release
	bad := fmt.Errorf("%q is neither a Redisson version such as 3.16.8 nor \"none\"", text)
	parts := strings.Split(text, ".")
	if len(parts) != len(r) {
		return r, bad
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return r, bad
		}
		r[i] = int(n)
	}
	return r, nil
}

func (r Release) before(other Release) bool { return slices.Compare(r[:], other[:]) < 0 }

// MessagesFor is how releases are announced to peers, of which this is the oldest. Sharded says
// that the servers know SPUBLISH.
func MessagesFor(oldest Release, sharded bool) Messages {
	messages := Plain
	if sharded {
		messages = Sharded
		if oldest.before(listensToShards) {
			messages |= Copied
		}
	}
	if oldest.before(listensForWriters) {
		messages |= Doubled
	}
	return messages
}
