package watchdog

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
	"github.com/redlatch/redlatch/internal/protocol"
)

// pulsing says whether a client has the pulse that its session names. In a cluster each server
// knows only its own connections, and the slot of the channel may have moved since the client
// subscribed. So pulsing asks the server of the slot, and then all others.
func (w *Watchdog) pulsing(ctx context.Context, client, pulse string) (bool, error) {
	if pulse == "" {
		return false, nil
	}
	channel := protocol.PulseChannel(client, pulse)
	if n, err := w.subscribers(ctx, channel, channel); n > 0 || err != nil {
		return n > 0, err
	}
	return w.pulsingElsewhere(ctx, channel)
}

// pulsingElsewhere asks all servers but that of the channel's slot. A server that does not answer
// may have the pulse. Then the result is an error, unless another server has it.
func (w *Watchdog) pulsingElsewhere(ctx context.Context, channel string) (bool, error) {
	home := w.serverOf(channel)
	var asking sync.WaitGroup
	var mu sync.Mutex
	var sum int64
	var failure error
	for server, key := range w.masters.keys(w.driver) {
		if server == home {
			continue
		}
		asking.Go(func() {
			n, err := w.subscribers(ctx, key, channel)
			mu.Lock()
			defer mu.Unlock()
			sum += n
			if err != nil {
				failure = err
			}
		})
	}
	asking.Wait()
	if sum > 0 {
		return true, nil
	}
	return false, failure
}

// subscribers asks the server of a key how many subscribers a channel has there.
func (w *Watchdog) subscribers(ctx context.Context, key, channel string) (int64, error) {
	server := w.serverOf(key)
	if !w.servers.admit(server) {
		return 0, errSilent
	}
	limited, cancel := context.WithTimeout(ctx, w.config.CommandTimeout)
	defer cancel()
	reply := guest.Driver(w.driver).Do(limited, driver.Command{Words: []string{"PUBSUB", "NUMSUB", channel}, Key: key})
	w.noteServer(ctx, server, isAnswer(reply.Err))
	switch {
	case reply.Err != nil:
		return 0, reply.Err
	case len(reply.Array) != 2:
		return 0, fmt.Errorf("an unexpected reply to PUBSUB NUMSUB, of %d parts", len(reply.Array))
	}
	return reply.Array[1].Int, nil
}

// masters are the servers of a cluster, each with a key that it has. The list is renewed after a
// second.
type masters struct {
	mu  sync.Mutex
	at  time.Time
	all map[string]string
}

func (m *masters) keys(d driver.Driver) map[string]string {
	sharded, ok := d.(driver.Sharded)
	if !ok {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || time.Since(m.at) > time.Second {
		m.at, m.all = time.Now(), make(map[string]string)
		for _, key := range slotKeys() {
			if server := sharded.Shard(key); server != "" {
				m.all[server] = key
			}
		}
	}
	return m.all
}

// slotKeys returns a key of each slot.
var slotKeys = sync.OnceValue(func() []string {
	keys := make([]string, driver.Slots)
	for n, found := 0, 0; found < len(keys); n++ {
		key := strconv.Itoa(n)
		if slot := driver.Slot(key); keys[slot] == "" {
			keys[slot] = key
			found++
		}
	}
	return keys
})
