package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/internal/embedded"
	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// exclusive is a mutex.
type exclusive struct {
	script.Mode
	name string
}

func mutex(name string) exclusive { return exclusive{script.NewMutex(name, protocol.Plain), name} }

func (e exclusive) checkRequest(before *keys, r *request, done *outcome) string {
	was, is := before.lock(e.name), done.keys.lock(e.name)
	if fault := kept(was, is, r); fault != "" {
		return fault
	}
	switch {
	case is != nil && len(is.fields) != 1:
		return "a mutex has one owner"
	case r.op == opLockAll && done.answer == refused && done.keys != before:
		return "what is refused has changed something"
	case r.op == opLockAll && done.answer == granted && !is.counts(r.words[slices.Index(r.keys, e.name)+1], "1"):
		return "not all of what is granted is held"
	case r.op == opLockAll && done.answer == refused && !slices.ContainsFunc(r.keys, func(key string) bool {
		l := before.lock(key)
		return l != nil && l.field(r.words[slices.Index(r.keys, key)+1]) == nil
	}):
		return "somebody is refused whom nobody bars"
	case r.op != opLockAll && r.keys[0] != e.name:
	case r.op == opLock && done.answer == refused && (was == nil || was.field(r.owner()) != nil):
		return "somebody is refused whom nobody bars"
	case r.op == opRenew && done.answer == granted && was.field(r.owner()) == nil:
		return "what is not held is renewed"
	case done.answer == granted && (r.op == opLock || r.op == opRaise) && !is.counts(r.owner(), r.words[2]):
		return "the count is not what was asked for"
	case was != nil && is == nil && !done.announced(protocol.LockChannel(e.name)):
		return "the lock became free and nobody was told"
	}
	return tokens(before, r, done)
}

func (e exclusive) lock() string { return e.name }

func (e exclusive) checkBelief(k *keys, who int, c *client) string {
	l := k.lock(e.name)
	if l.field(owners[who][c.number]) == nil {
		return "it believes to hold the lock, and is not in it"
	}
	return lives("the lock", l.ttl, c)
}

// readWrite is a read-write lock.
type readWrite struct{ script.RW }

var readers = readWrite{script.NewRW(lockName, protocol.Plain)}

func (readWrite) lock() string { return lockName }

func (readWrite) checkRequest(before *keys, r *request, done *outcome) string {
	was, is := before.lock(lockName), done.keys.lock(lockName)
	if fault := kept(was, is, r); fault != "" {
		return fault
	}
	switch {
	case is != nil && (is.mode != "read" && is.mode != "write" || len(is.fields) == 0):
		return "the lock has no mode, or no owner"
	case r.lowers() && was != nil && (is == nil || was.mode == "write" && is.mode == "read") && !done.announced(readers.Channel):
		return "others may enter and nobody was told"
	case r.op == opRenew && done.answer == granted && was.field(r.owner()) == nil && was.field(writers[r.who][r.number]) == nil:
		return "what is not held is renewed"
	case r.op == opLock && done.answer == refused && !was.bars(r):
		return "somebody is refused whom nobody bars"
	case done.answer == granted && (r.op == opLock || r.op == opRaise) &&
		!((r.words[3] == "0" || is.counts(r.words[0], r.words[3])) && (r.words[2] == "0" || is.counts(r.words[1], r.words[2]))):
		return "the counts are not what was asked for"
	}
	return tokens(before, r, done)
}

// lowers says that a request releases something. A renewal or a re-entry may also end a write hold
// whose release was lost, but announces nothing: waiters try at their own time.
func (r *request) lowers() bool { return r.op == opLower || r.op == opFree }

// bars says that a holder of the lock bars an owner that asks for its first hold.
func (l *lock) bars(r *request) bool {
	reads := r.words[3] != "0"
	return l != nil && slices.ContainsFunc(l.fields, func(f field) bool {
		return l.lives(&f) && (!reads || l.mode == "write")
	})
}

func (readWrite) checkBelief(k *keys, who int, c *client) string {
	l, owner := k.lock(lockName), owners[who][c.number]
	writer, reader := l.field(writers[who][c.number]), l.field(owner)
	writes := writer != nil && l.mode == "write"
	switch {
	case c.writes > 0 && !writes:
		return "it believes to write, and the lock says otherwise"
	case reader == nil && !writes:
		return "it believes to read, and is not in the lock"
	case !writes:
		if fault := lives("its read hold", reader.left, c); fault != "" {
			return fault
		}
	}
	return lives("the lock", l.ttl, c)
}

// lives says what is wrong with the remaining life of something that Redis has confirmed.
func lives(what string, left int32, c *client) string {
	if left < c.promised {
		return fmt.Sprintf("%s lives for %d ms, less than the %d ms that were confirmed", what, left, c.promised)
	}
	return ""
}

// kept says what a redlatch request has taken from another owner, or nothing.
func kept(was, is *lock, r *request) string {
	if was == nil || r.op == opPeer {
		return ""
	}
	for _, f := range was.fields {
		if !was.lives(&f) || r.op != opRenew && r.op != opGuard && strings.HasPrefix(f.name, r.owner()) {
			continue
		}
		g := is.field(f.name)
		if heir := r.heir(f.name); g == nil && heir != "" {
			g = is.field(heir)
		}
		switch {
		case g == nil && strings.HasPrefix(f.name, r.owner()): // the end of a write hold, that Redis was not told
		case g == nil && r.op == opMove && r.words[0] == f.name+":write": // a read hold that its owner had given up before
		case g == nil:
			return fmt.Sprintf("%s is thrown out", f.name)
		case g.left < f.left || is.ttl < was.ttl:
			return fmt.Sprintf("the life of %s is made shorter", f.name)
		}
	}
	return ""
}

// tokens says what is wrong with the issued tokens: all of a block are new.
func tokens(before *keys, r *request, done *outcome) string {
	was, issued, size := 0, 0, 0
	if before.find(counter) != nil {
		was = 1
	}
	if (r.op == opLock || r.op == opRaise) && len(done.reply.Array) == 1 {
		issued = int(done.reply.Array[0].Int)
		size, _ = strconv.Atoi(r.words[len(r.words)-1])
	}
	switch {
	case done.token < was:
		return "the counter of tokens has gone back"
	case issued != 0 && (issued-size < was || issued != done.token):
		return fmt.Sprintf("%d tokens up to %d are issued after %d, and the counter says %d", size, issued, was, done.token)
	}
	return ""
}

func (o *outcome) announced(channel string) bool {
	return slices.ContainsFunc(o.said, func(said string) bool { return strings.HasPrefix(said, channel+" ") })
}

func (r *request) owner() string { return owners[r.who][r.number] }

// checkRequest says what is wrong with the effect of a request on any lock.
func (w *world) checkRequest(before *keys, r *request, done *outcome) string {
	for i, k := range w.kinds {
		if i > 0 && slices.ContainsFunc(w.kinds[:i], func(other kind) bool { return other.lock() == k.lock() }) {
			continue
		}
		if fault := k.checkRequest(before, r, done); fault != "" {
			return fault
		}
	}
	return ""
}

// check says what is wrong with a state, or nothing.
func (w *world) check(s *state) string {
	k := w.redis.all[s.keys]
	var sides [2][6]string // of each lock: who writes, and who reads
	for i, kind := range w.kinds {
		c := &s.clients[i]
		if !c.believes() {
			continue
		}
		if fault := kind.checkBelief(k, i, c); fault != "" {
			return name(i) + ": " + fault
		}
		if fault := addHolder(&sides, kind.lock(), i, c.writes == 0); fault != "" && w.start.permits == 0 {
			return fault
		}
	}
	if w.start.permits > 0 {
		if fault := w.checkPermits(s, k); fault != "" {
			return fault
		}
	}
	for i, p := range s.peers[:len(w.peers)] {
		who := firstPeer + i
		switch {
		case p.count == 0 || w.start.permits > 0:
			continue
		case k.lock(lockName).field(owners[who][1]+w.peers[i].field) == nil:
			return name(who) + ": it believes to hold the lock, and is not in it"
		}
		if fault := addHolder(&sides, lockName, who, p.reads); fault != "" {
			return fault
		}
	}
	if k.future == nil {
		future := w.remains(k)
		if f, fair := w.kinds[0].(fair); fair && future == "" {
			future = f.progress(w.redis, k)
		}
		k.future = &future
	}
	return *k.future
}

// addHolder adds one that believes that it holds a lock. It returns a fault if another one that
// believes so bars it.
func addHolder(sides *[2][6]string, lock string, who int, reads bool) string {
	side := 0
	if reads {
		side = 1
	}
	sides[side][who] = lock
	for other := range sides[0] {
		if other != who && (sides[0][other] == lock || !reads && sides[1][other] == lock) {
			return fmt.Sprintf("%s and %s both believe to hold %s", name(other), name(who), lock)
		}
	}
	return ""
}

// remains says what would wrongly remain of the keys if everybody stopped.
func (w *world) remains(k *keys) string {
	for _, it := range k.items {
		queue := strings.Contains(it.Name, "_queue:") || strings.Contains(it.Name, "_timeout:") || strings.Contains(it.Name, ":fair:")
		switch {
		case queue && (it.TTL != embedded.None || len(w.peers) > 0) || w.lasting(it.Name):
		case it.TTL != embedded.None && it.Name == counter:
			return "the counter of tokens would go"
		case it.TTL == embedded.None && it.Name != counter:
			return it.Name + " would live for ever"
		case millis(it.TTL) > w.longest():
			return it.Name + " lives for longer than anybody asked for"
		}
	}
	return ""
}

// longest is the longest lease that anybody asks for.
func (w *world) longest() (longest int32) {
	for _, want := range w.wants {
		longest = max(longest, want.lease)
	}
	if len(w.peers) > 0 {
		longest = max(longest, lease)
	}
	return longest
}
