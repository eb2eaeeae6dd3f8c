package inspect

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/driver"
	"github.com/redlatch/redlatch/internal/guest"
)

// Locks walks through the keys of all masters and yields each lock once, in no order. Pattern is a glob
// pattern of Redis, such as "orders:*". "" means all locks. A pattern without a special character is the
// name of one lock, and Locks yields nothing if that lock is free.
//
// An error concerns one server or one lock, and the walk goes on with the others. A *RightError ends the
// walk. So does the end of ctx, and Locks then yields the error of ctx. Locks may miss a lock that is
// taken or released during the walk. It yields an error if it may have missed others, because slots have no
// server, or because slots moved or servers were replaced twice.
func (i *Inspector) Locks(ctx context.Context, pattern string) iter.Seq2[Lock, error] {
	return func(yield func(Lock, error) bool) {
		if !isGlob(pattern) {
			if l, err := i.Lock(ctx, pattern); err != nil || isWorthIt(l) {
				yield(l, err)
			}
			return
		}
		walkAll(ctx, i, pattern, forLocks(pattern), i.readStep)(yield)
	}
}

// isWorthIt says that there is something to tell of a lock.
func isWorthIt(l Lock) bool { return l.Mode != "" || l.Queued > 0 || len(l.Findings) > 0 }

// walk scans all keys of some types. To find locks, it scans the hashes of every server, and then the queues of
// fair locks, because a free fair lock has only a queue.
//
// A key may move during the walk, from a server that was not read yet to one that was: with a slot, or by a
// failover. A server that is restarted orders its keys anew. In these cases the walk begins once more. So it
// misses a lock only if its key moves twice. If the servers change during the second time, the walk ends with
// an error.
type walk struct {
	pattern string
	plan    []scan  // of each server
	scans   []*scan // that are left
	seen    map[string]bool
	layout  layout // when it began
	second  bool   // it has begun once more
	probed  bool   // it has asked for the fields of a key
}

// scan is the way through the keys of one type on one server.
type scan struct {
	server driver.Server
	cursor string
	kind   string // the type of the keys
	match  string
}

func forLocks(pattern string) []scan {
	return []scan{{kind: "hash", match: pattern}, {kind: "list", match: queuePrefix + "*"}}
}

// walkAll yields what a walk finds. Read reads the keys of one step.
func walkAll[T any](ctx context.Context, i *Inspector, pattern string, plan []scan, read func(context.Context, *walk, *scan, []string) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		w, err := i.newWalk(ctx, pattern, plan)
		if err != nil {
			yield(none, err)
			return
		}
		for !w.over() {
			all, err := advance(ctx, i, w, read)
			for _, one := range all {
				if !yield(one, nil) {
					return
				}
			}
			if err != nil && !yield(none, err) {
				return
			}
		}
	}
}

func (i *Inspector) newWalk(ctx context.Context, pattern string, plan []scan) (*walk, error) {
	w := &walk{pattern: pattern, plan: plan, seen: make(map[string]bool)}
	return w, i.begin(ctx, w)
}

// begin begins a walk, or begins it once more.
func (i *Inspector) begin(ctx context.Context, w *walk) error {
	servers, err := i.currentServers(ctx)
	if err != nil {
		return err
	}
	if w.layout, err = i.layoutOf(ctx, servers); err != nil {
		return err
	}
	for _, one := range w.plan {
		for _, s := range servers {
			w.scans = append(w.scans, &scan{server: s, cursor: "0", kind: one.kind, match: one.match})
		}
	}
	return nil
}

func (w *walk) over() bool { return len(w.scans) == 0 }

// advance takes one step of a walk. It returns what it has found there.
func advance[T any](ctx context.Context, i *Inspector, w *walk, read func(context.Context, *walk, *scan, []string) ([]T, error)) (found []T, err error) {
	s := w.scans[0]
	keys, err := i.step(ctx, s)
	if err != nil || s.cursor == "0" {
		w.scans = w.scans[1:]
	}
	if err == nil {
		found, err = read(ctx, w, s, keys)
	}
	return found, i.after(ctx, w, err)
}

// after returns the error of a step, and ends the walk if nothing more can come.
func (i *Inspector) after(ctx context.Context, w *walk, err error) error {
	_, denied := errors.AsType[*RightError](err)
	switch {
	case denied || ctx.Err() != nil:
		w.scans = nil
	case len(w.scans) == 0:
		return errors.Join(err, i.end(ctx, w))
	}
	return err
}

// end looks at the servers again when all keys have been read. The walk begins once more, or is over.
func (i *Inspector) end(ctx context.Context, w *walk) error {
	now, err := i.layoutOf(ctx, w.layout.servers)
	if err != nil {
		return err
	}
	lost := now.err(w.layout)
	if !w.second && (lost != nil || now.migrating()) {
		w.second = true
		return i.begin(ctx, w)
	}
	return lost
}

// step sends one SCAN.
func (i *Inspector) step(ctx context.Context, s *scan) ([]string, error) {
	if err := i.pace.take(ctx, max(1, i.config.Step/100)); err != nil {
		return nil, err
	}
	words := []string{"SCAN", s.cursor}
	if s.match != "" {
		words = append(words, "MATCH", s.match)
	}
	words = append(words, "COUNT", strconv.Itoa(i.config.Step), "TYPE", s.kind)
	reply := guest.Counted(ctx, s.server.Pipeline, []driver.Command{{Words: words}})[0]
	if reply.Err != nil {
		return nil, right("+scan", reply.Err)
	}
	if len(reply.Array) != 2 {
		return nil, fmt.Errorf("inspect: an unexpected reply to SCAN, of %d parts", len(reply.Array))
	}
	s.cursor = reply.Array[0].Str
	keys := make([]string, 0, len(reply.Array[1].Array))
	for _, key := range reply.Array[1].Array {
		keys = append(keys, key.Str)
	}
	return keys, nil
}

// likely are those of some hashes that may be locks. A lock is a hash that has a mode, or one whose field is an owner. So
// data is not read by script, which would take a command for each hash.
func (i *Inspector) likely(ctx context.Context, w *walk, server driver.Server, keys []string) (some []string, err error) {
	for len(keys) > 0 && err == nil {
		n := 1000
		if !w.probed { // a command that is refused is sent once
			n, w.probed = 1, true
		}
		part := keys[:min(n, len(keys))]
		keys = keys[len(part):]
		var modes, sizes, fields []driver.Reply
		if modes, err = i.light(ctx, server, part, "HEXISTS", "mode"); err != nil {
			return nil, err
		}
		if sizes, err = i.light(ctx, server, part, "MEMORY USAGE"); err != nil {
			return nil, err
		}
		var small []string
		for n, key := range part {
			if modes[n].Err != nil || modes[n].Int == 1 {
				some = append(some, key)
			} else if sizes[n].Int <= maxOneField { // or the server does not say
				small = append(small, key)
			}
		}
		if fields, err = i.light(ctx, server, small, "HRANDFIELD"); err != nil {
			return nil, err
		}
		for n, r := range fields {
			if r.Err != nil || isOwner(r.Str) {
				some = append(some, small[n])
			}
		}
	}
	return some, nil
}

// maxOneField is how much memory a lock of one owner takes, as its scripts have it.
const maxOneField = 16384

// light sends one command for each key that tells little of it. A hundred of them count as one command, as in a SCAN.
func (i *Inspector) light(ctx context.Context, server driver.Server, keys []string, verb string, rest ...string) ([]driver.Reply, error) {
	if err := i.pace.takePart(ctx, len(keys), 100); err != nil {
		return nil, err
	}
	var commands []driver.Command
	for _, key := range keys {
		commands = append(commands, command(key, slices.Concat(strings.Fields(verb), []string{key}, rest)...))
	}
	replies := i.send(ctx, server.Pipeline, commands)
	return replies, ctx.Err()
}

// readStep reads the keys of one step that may be locks, and returns those that are.
func (i *Inspector) readStep(ctx context.Context, w *walk, s *scan, keys []string) (locks []Lock, failure error) {
	queues := s.kind == "list"
	if queues {
		keys = w.queued(keys)
	}
	slices.Sort(keys) // a SCAN may name a key twice
	keys = slices.DeleteFunc(slices.Compact(keys), func(name string) bool { return w.seen[name] })
	if !queues {
		if keys, failure = i.likely(ctx, w, s.server, keys); failure != nil {
			return nil, failure
		}
	}
	found, err := i.readAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		switch _, hidden := forbidden(one.err); {
		case hidden:
			i.notices.add(leftOut)
		case one.err != nil && !errors.Is(one.err, redlatch.ErrWrongType):
			failure = fmt.Errorf("inspect: lock %q: %w", one.lock.Name, one.err)
		case one.err == nil && one.isLock, queues && isWorthIt(one.lock):
			w.seen[one.lock.Name] = true
			locks = append(locks, one.lock)
		}
	}
	i.complete(ctx, locks)
	return locks, failure
}

const leftOut = "Some keys were left out: this user may not read them"

// queued are the locks that keys are the queues of.
func (w *walk) queued(keys []string) (names []string) {
	for _, key := range keys {
		if name, ok := parseQueue(key); ok && match(w.pattern, name) && !w.seen[twin(name)] {
			names = append(names, name)
		}
	}
	return names
}
