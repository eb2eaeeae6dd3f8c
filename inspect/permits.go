package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/protocol"
)

// Permits walks through the keys of all masters and yields each semaphore with leased permits that has permits
// in use, in no order. It does not find a semaphore without permits in use, nor any other counter: each is only
// a number in Redis.
//
// Pattern is that of Locks. A pattern without a special character is the name of one counter of any kind, and
// Permits yields nothing if there is none. Errors are those of Locks.
func (i *Inspector) Permits(ctx context.Context, pattern string) iter.Seq2[Counter, error] {
	return func(yield func(Counter, error) bool) {
		if !isGlob(pattern) {
			if c, err := i.Counter(ctx, pattern); err != nil || c.Kind != "" {
				yield(c, err)
			}
			return
		}
		walkAll(ctx, i, pattern, []scan{{kind: "zset", match: "*" + permitsSuffix}}, i.readPermits)(yield)
	}
}

// readPermits reads the semaphores to which the keys of one step may belong.
func (i *Inspector) readPermits(ctx context.Context, w *walk, _ *scan, keys []string) (counters []Counter, failure error) {
	var names, all []string
	for _, key := range keys {
		if name, ok := parsePermits(key); ok && !w.seen[key] {
			w.seen[key] = true // a SCAN may name a key twice
			names, all = append(names, name), append(all, name, twin(name))
		}
	}
	all = slices.DeleteFunc(all, func(name string) bool { return name == "" })
	readings, err := i.readCounters(ctx, all)
	if err != nil {
		return nil, err
	}
	found := make(map[string]counterReading)
	for _, one := range readings {
		found[one.Name] = one
	}
	for _, name := range names {
		one := found[name]
		if other, ok := found[twin(name)]; ok && other.there {
			one = other // "x" and "{x}" have the same sorted set, and only one of them has a counter
		}
		switch _, hidden := forbidden(one.err); {
		case hidden:
			i.notices.add(leftOut)
		case one.err != nil && !errors.Is(one.err, redlatch.ErrWrongType):
			failure = fmt.Errorf("inspect: semaphore %q: %w", one.Name, one.err)
		case one.err == nil && one.Kind == KindPermits && match(w.pattern, one.Name):
			counters = append(counters, one.Counter)
		}
	}
	i.countWaiters(ctx, counters)
	return counters, failure
}

const permitsSuffix = ":timeout"

// parsePermits returns the semaphore to which a sorted set of permits belongs.
func parsePermits(key string) (name string, ok bool) {
	front, ok := strings.CutSuffix(key, permitsSuffix)
	name = protocol.Unbraced(front)
	return name, ok && name != "" && protocol.PermitsInUse(name) == key
}
