package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/driver/internal/call"
	"github.com/redlatch/redlatch/internal/random"
)

const (
	// refreshWithin bounds one request for the slot map, and stagger is how long one server
	// is waited for before the next is asked as well.
	refreshWithin = time.Second
	stagger       = 100 * time.Millisecond
)

// answer is what one server says about the slot map.
type answer struct {
	epoch int64
	spans []span
	err   error
}

// refresh asks for the slot map. It takes the first answer that is not older than what is
// known, or else the newest: a cluster that was created again counts its epochs from the
// beginning.
func (d *Driver) refresh(ctx context.Context) error {
	ctx, cancel := call.Bound(ctx, time.Now(), refreshWithin)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer cancel()
	addresses, known := d.sources()
	answers := make(chan answer, len(addresses))
	asked, answered := 0, 0
	ask := func() {
		if asked < len(addresses) {
			address := addresses[asked]
			asking.Go(func() { answers <- d.ask(ctx, address) })
			asked++
		}
	}
	next := time.NewTicker(stagger)
	defer next.Stop()
	best := answer{epoch: -1}
	var failures []error
	for ask(); answered < asked; {
		select {
		case <-next.C:
			ask()
			continue
		case a := <-answers:
			answered++
			switch {
			case a.err != nil:
				failures = append(failures, a.err)
			case a.epoch >= known:
				d.install(a)
				return nil
			case a.epoch > best.epoch:
				best = a
			}
			ask()
		}
	}
	if best.epoch < 0 {
		return errors.Join(failures...)
	}
	d.install(best)
	return nil
}

// sources are the servers to ask for the slot map, in this order, and the epoch of the slot
// map that is known. Those that answer come first.
func (d *Driver) sources() (addresses []string, epoch int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	addresses = slices.Sorted(maps.Keys(d.nodes))
	random.Shuffle(addresses)
	slices.SortStableFunc(addresses, func(a, b string) int { return d.nodes[a].suspect() - d.nodes[b].suspect() })
	all := slices.Concat([]string{d.hint}, addresses, d.options.Addresses)
	d.hint = ""
	seen := map[string]bool{"": true}
	return slices.DeleteFunc(all, func(address string) bool {
		again := seen[address]
		seen[address] = true
		return again
	}), d.epoch
}

// ask asks one server. It does not wait for one that refuses connections.
func (d *Driver) ask(ctx context.Context, address string) answer {
	n := d.node(address)
	if !n.enter() {
		return answer{err: errNodeClosed}
	}
	defer n.leave()
	server, err := n.reach(ctx, n.failed)
	if err != nil {
		return answer{err: err}
	}
	replies := server.Pipeline(ctx,
		driver.Command{Words: []string{"CLUSTER", "INFO"}}, driver.Command{Words: []string{"CLUSTER", "SLOTS"}})
	if replies[1].Err == nil {
		n.answers.Add(1)
	}
	spans, err := parseSlots(replies[1], address)
	if err != nil {
		return answer{err: fmt.Errorf("ask %s for the slots: %w", address, err)}
	}
	return answer{epoch: parseEpoch(replies[0]), spans: spans}
}

// install makes an answer the slot map.
func (d *Driver) install(a answer) {
	var owners [driver.Slots]*node
	masters := make(map[*node]bool)
	for _, s := range a.spans {
		n := d.node(s.address)
		n.serving.Store(true) // before any call goes there
		masters[n] = true
		for slot := s.first; slot <= s.last; slot++ {
			owners[slot] = n
		}
	}
	for slot, owner := range owners {
		d.slots[slot].Store(owner)
	}
	list := slices.SortedFunc(maps.Keys(masters), func(a, b *node) int { return cmp.Compare(a.address, b.address) })
	random.Shuffle(list) // which spreads the load
	d.masters.Store(&list)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.epoch = a.epoch
	for _, n := range d.nodes {
		n.serving.Store(masters[n])
	}
}

// knowShardMessages asks every master whether it knows shard messages. It is true if those
// that answer all do, and one at least.
func (d *Driver) knowShardMessages(ctx context.Context) bool {
	ctx, cancel := call.Bound(ctx, time.Now(), refreshWithin)
	defer cancel()
	masters := *d.masters.Load()
	outcomes := make([]error, len(masters))
	var asking sync.WaitGroup
	for i, n := range masters {
		asking.Go(func() {
			server, err := n.reach(ctx, n.failed)
			if err == nil {
				err = server.Do(ctx, driver.Command{Words: []string{"PUBSUB", "SHARDNUMSUB"}}).Err
			}
			outcomes[i] = err
		})
	}
	asking.Wait()
	return slices.Contains(outcomes, nil) && !slices.ContainsFunc(outcomes, isUnknownCommand)
}

// isUnknownCommand distinguishes a server that does not know a command from one that refuses
// it for now, for example because it is loading its data.
func isUnknownCommand(err error) bool {
	refused, ok := errors.AsType[*driver.ServerError](err)
	return ok && refused.Code() == "ERR" && !errors.Is(err, driver.ErrNotSent)
}
