package blocked

import (
	"context"
	"maps"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// name adds the names and addresses of processes, as far as the servers of the locks tell them.
func (r *reading) name(ctx context.Context) {
	keys := make(map[string]string) // one of each server
	for _, e := range r.graph.Edges {
		keys[r.shard(e.Lock)] = e.Lock
	}
	var calls []script.Call
	for _, key := range keys {
		calls = append(calls, script.Clients(key))
	}
	found := make(map[string]script.Connection)
	for _, result := range r.runner.RunEach(ctx, calls...) {
		connections, _ := script.ReadConnections(result.Reply)
		maps.Copy(found, connections)
	}
	for i := range r.graph.Edges {
		for _, p := range []*Party{&r.graph.Edges[i].Waiter, &r.graph.Edges[i].Holder} {
			p.Name, p.Addr = found[p.Client].Name, found[p.Client].Addr
		}
	}
}

func (r *reading) shard(key string) string {
	if sharded, ok := r.driver.(driver.Sharded); ok {
		return sharded.Shard(key)
	}
	return ""
}
