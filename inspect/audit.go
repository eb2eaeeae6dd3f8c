package inspect

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/script"
)

// Audit yields the locks that have findings. It finds them as Locks does. It also yields each name that has
// orphaned timeout keys of readers. To find these keys, Audit takes another walk before it yields the first
// lock. Its errors are those of Locks.
func (i *Inspector) Audit(ctx context.Context, pattern string) iter.Seq2[Lock, error] {
	return func(yield func(Lock, error) bool) {
		found := make(map[string]*orphaned)
		check := func(ctx context.Context, w *walk, _ *scan, keys []string) ([]Lock, error) {
			return nil, i.checkOrphans(ctx, w, keys, found)
		}
		for _, err := range walkAll(ctx, i, pattern, []scan{{kind: "string", match: "*" + timeoutInfix + "*"}}, check) {
			if !yield(Lock{}, err) || ctx.Err() != nil {
				return
			}
		}
		for l, err := range i.Locks(ctx, pattern) {
			if one := found[l.Name]; one != nil && l.Name != "" {
				l.Findings = append(l.Findings, orphans(one.keys, one.example))
				delete(found, l.Name)
			}
			if (err != nil || len(l.Findings) > 0) && !yield(l, err) {
				return
			}
		}
		for _, name := range slices.Sorted(maps.Keys(found)) {
			one := found[name]
			if !yield(Lock{Name: name, Kind: KindReadWrite, Waiting: -1, Findings: []Finding{orphans(one.keys, one.example)}}, nil) {
				return
			}
		}
	}
}

// orphaned are the timeout keys at one name whose readers do not hold the lock.
type orphaned struct {
	keys    int
	example string
}

// maxOrphaned bounds the memory of an audit: so many names with orphaned keys are kept.
const maxOrphaned = 10_000

// timeout is one timeout key.
type timeout struct{ key, name, owner string }

// checkOrphans adds those of the keys whose reader does not hold the lock.
func (i *Inspector) checkOrphans(ctx context.Context, w *walk, keys []string, found map[string]*orphaned) error {
	var some []timeout
	for _, key := range keys {
		if name, owner, _, ok := parseTimeout(key); ok && match(w.pattern, name) && !w.seen[key] {
			some = append(some, timeout{key, name, owner})
		}
	}
	for part := range slices.Chunk(some, i.batch()) {
		var commands []driver.Command
		for _, t := range part {
			// The reader may come or leave between two commands. It is asked for before and behind.
			holds := []driver.Command{command(t.name, "HEXISTS", t.name, t.owner), command(t.name, "HEXISTS", cmp.Or(twin(t.name), t.name), t.owner)}
			commands = slices.Concat(commands, holds, []driver.Command{command(t.key, "PTTL", t.key)}, holds)
		}
		replies := i.ask(ctx, commands...)
		if replies == nil {
			return ctx.Err()
		}
		for n, t := range part {
			some := replies[5*n : 5*n+5]
			if slices.ContainsFunc(some, isHidden) {
				i.notices.add(leftOut)
				continue
			}
			if err := some[0].Err; err != nil && script.Code(err) != "WRONGTYPE" {
				return right("+hexists", err)
			}
			if ttl := some[2]; ttl.Err == nil && ttl.Int != -2 && notHeld(some[0]) && notHeld(some[1]) && notHeld(some[3]) && notHeld(some[4]) {
				w.seen[t.key] = true // the walk may begin once more
				i.addOrphan(found, t)
			}
		}
	}
	return nil
}

// isHidden says that this user may not read the key.
func isHidden(r driver.Reply) bool {
	_, hidden := forbidden(r.Err)
	return hidden
}

// notHeld says that a hash has no such field, or that the key is no hash.
func notHeld(r driver.Reply) bool {
	return r.Err == nil && r.Int == 0 || script.Code(r.Err) == "WRONGTYPE"
}

func (i *Inspector) addOrphan(found map[string]*orphaned, t timeout) {
	one := found[t.name]
	switch {
	case one != nil:
		one.keys++
	case len(found) < maxOrphaned:
		found[t.name] = &orphaned{keys: 1, example: t.key}
	default:
		i.notices.add("Some orphaned timeout keys were left out: there are too many")
	}
}
