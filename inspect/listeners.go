package inspect

import (
	"context"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
)

// countListeners counts the processes that listen for the release of locks.
func (i *Inspector) countListeners(ctx context.Context, servers []driver.Server, locks []Lock) {
	for some := range slices.Chunk(locks, i.batch()) {
		var channels []string
		for _, l := range some {
			channels = append(channels, channelOf(l))
		}
		counts, ok := i.countOn(ctx, servers, channels)
		for n := range some {
			if ok {
				some[n].Waiting = counts[channels[n]] + queuedClients(some[n])
			}
		}
	}
}

// countOn counts the processes that listen to channels. In a cluster a process of redlatch listens in both
// ways, to all servers and to the shard. A Java process listens in one of them. So the larger number counts.
func (i *Inspector) countOn(ctx context.Context, servers []driver.Server, channels []string) (map[string]int, bool) {
	if i.config.NoWaiters {
		return nil, false
	}
	counts, ok := i.countSubscribers(ctx, servers, "NUMSUB", channels)
	if sharded, _ := i.driver.(driver.Sharded); sharded != nil && sharded.ShardMessages() {
		more, known := i.countSubscribers(ctx, servers, "SHARDNUMSUB", channels)
		ok = ok && known
		for channel, n := range more {
			counts[channel] = max(counts[channel], n)
		}
	}
	return counts, ok
}

// channelOf is the channel on which the release of a lock is announced.
func channelOf(l Lock) string {
	if l.Kind == KindReadWrite {
		return protocol.RWChannel(l.Name)
	}
	return protocol.LockChannel(l.Name)
}

// queuedClients counts the processes in the queue of a fair lock. Each of their waiters listens to a
// channel of its own.
func queuedClients(l Lock) int {
	clients := make(map[string]bool)
	for _, w := range l.Queue {
		clients[clientOf(w.Owner)] = true
	}
	return len(clients)
}

// countSubscribers adds up the subscribers of channels over all servers. It reports false if a server
// does not say.
func (i *Inspector) countSubscribers(ctx context.Context, servers []driver.Server, verb string, channels []string) (map[string]int, bool) {
	counts := make(map[string]int)
	words := append([]string{"PUBSUB", verb}, channels...)
	answers := i.askAll(ctx, servers, driver.Command{Words: words})
	if answers == nil {
		return counts, false
	}
	for _, replies := range answers {
		reply := replies[0]
		if reply.Err != nil || len(reply.Array) != 2*len(channels) {
			i.notices.unread(reply.Err, "+pubsub|"+strings.ToLower(verb), "The numbers of waiting processes are")
			return counts, false
		}
		for pair := range slices.Chunk(reply.Array, 2) {
			counts[pair[0].Str] += int(pair[1].Int)
		}
	}
	return counts, true
}
