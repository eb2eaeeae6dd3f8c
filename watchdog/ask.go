package watchdog

import (
	"context"
	"sync"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// question is a call, and the key that says which server answers it.
type question struct {
	key  string
	call script.Call
}

// ask sends questions and returns a reply for each. Those for one server go in one write,
// in order; several servers are asked side by side, so that one that does not answer holds
// up nobody but itself.
func (w *Watchdog) ask(ctx context.Context, questions []question) []driver.Reply {
	replies := make([]driver.Reply, len(questions))
	var asking sync.WaitGroup
	for _, part := range w.byServer(questions) {
		asking.Go(func() {
			calls := make([]script.Call, len(part))
			for i, at := range part {
				calls[i] = questions[at].call
			}
			results, err := w.runner.RunAll(ctx, calls...)
			for i, at := range part {
				replies[at] = results[i].Reply
				if unanswered := results[i].Or(err); unanswered != nil {
					replies[at].Err = unanswered
				}
			}
		})
	}
	asking.Wait()
	return replies
}

// byServer divides questions, by their indices, among the servers.
func (w *Watchdog) byServer(questions []question) map[string][]int {
	parts := make(map[string][]int)
	sharded, _ := w.driver.(driver.Sharded)
	for i, q := range questions {
		server := ""
		if sharded != nil {
			server = sharded.Shard(q.key)
		}
		parts[server] = append(parts[server], i)
	}
	return parts
}

// slot is what keys must have in common for one script to touch them.
func (w *Watchdog) slot(key string) int {
	if _, sharded := w.driver.(driver.Sharded); sharded {
		return driver.Slot(key)
	}
	return 0
}

// pulses asks of each client how many are subscribed to its pulse.
func (w *Watchdog) pulses(ctx context.Context, clients []string) []driver.Reply {
	count := "NUMSUB"
	if sharded, ok := w.driver.(driver.Sharded); ok && sharded.ShardMessages() {
		count = "SHARDNUMSUB"
	}
	commands := make([]driver.Command, len(clients))
	for i, client := range clients {
		channel := protocol.PulseChannel(client)
		commands[i] = driver.Command{Words: []string{"PUBSUB", count, channel}, Key: channel}
	}
	ctx, cancel := context.WithTimeout(ctx, w.config.CommandTimeout)
	defer cancel()
	return w.driver.Pipeline(ctx, commands...)
}

// beats says whether a reply of pulses tells of a subscriber.
func beats(r driver.Reply) bool { return len(r.Array) == 2 && r.Array[1].Int > 0 }
