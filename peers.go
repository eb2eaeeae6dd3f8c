package redlatch

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/waitqueue"
)

// release is a version of Redisson: major, minor, patch.
type release [3]int

var (
	// Before it, Java peers ignore the message that ends a write hold.
	listensForWriters = release{3, 10, 3}
	// From it on, Java peers in a cluster of Redis 7 listen to the shard.
	listensToShards = release{3, 22, 0}
	// Nobody's: later than all.
	noPeers = release{1 << 20}
)

// parsePeer reads Config.OldestPeer; "" is a release of which only those are excluded that
// hardly anybody runs any more.
func parsePeer(text string) (release, error) {
	switch text {
	case "":
		return listensForWriters, nil
	case "none":
		return noPeers, nil
	}
	var version release
	bad := &ConfigError{Field: "OldestPeer", Reason: fmt.Sprintf("%q is neither a Redisson version such as 3.16.8 nor \"none\"", text)}
	parts := strings.Split(text, ".")
	if len(parts) != len(version) {
		return version, bad
	}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return version, bad
		}
		version[i] = int(n)
	}
	return version, nil
}

func (r release) before(other release) bool { return slices.Compare(r[:], other[:]) < 0 }

// messages is how releases are announced, for the servers and the oldest peer there are.
func (c Config) messages(d driver.Driver) protocol.Messages {
	oldest, _ := parsePeer(c.OldestPeer)
	messages := protocol.Plain
	if sharded, ok := d.(driver.Sharded); ok && sharded.ShardMessages() {
		messages = protocol.Sharded
		if oldest.before(listensToShards) {
			messages |= protocol.Copied
		}
	}
	if oldest.before(listensForWriters) {
		messages |= protocol.Doubled
	}
	return messages
}

// listen is d.Listen without the copies of messages that were heard before. Whoever hears
// only the copies, in the plain way, has to heed them.
func listen(d driver.Driver, messages protocol.Messages) waitqueue.Listen {
	if messages == protocol.Plain {
		return d.Listen
	}
	return func(ctx context.Context, events driver.Events) (driver.Listener, error) {
		heed := events.Message
		events.Message = func(channel, payload string) {
			if !protocol.IsCopy(payload) {
				heed(channel, payload)
			}
		}
		return d.Listen(ctx, events)
	}
}
