package explore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/embedded"
)

// keys are the keys in Redis, with times that count from now on. They never change.
type keys struct {
	id      int32
	items   []item // by name
	locks   map[string]*lock
	queue   *fairQueue
	future  *string // what is wrong with the future of the keys
	served  bool    // a new client would get the fair lock in the end
	permits *semaphore
}

// item is one key. Its scores are times, in milliseconds from now on.
type item = embedded.Key

// dump reads all keys of a server.
func dump(s *embedded.Server) []item { return shifted(s.Keys(), -epoch.UnixMilli()) }

// load replaces the keys of a server by these.
func (k *keys) load(s *embedded.Server) { s.Replace(shifted(k.items, epoch.UnixMilli())) }

// shifted are keys with scores that are greater by some milliseconds.
func shifted(items []item, ms int64) []item {
	items = slices.Clone(items)
	for i := range items {
		items[i].Scores = slices.Clone(items[i].Scores)
		for j := range items[i].Scores {
			items[i].Scores[j] += float64(ms)
		}
	}
	return items
}

func millis(ttl time.Duration) int32 { return int32(ttl.Milliseconds()) }

// longAgo is the earliest time that is told apart from earlier ones.
const longAgo = -30_000

// after returns the keys that are left some milliseconds later.
func (k *keys) after(ms int32) []item {
	left := shifted(embedded.Aged(k.items, time.Duration(ms)*time.Millisecond), -int64(ms))
	for _, it := range left {
		for i := range it.Scores {
			it.Scores[i] = max(it.Scores[i], longAgo)
		}
	}
	return left
}

// encode writes keys so that equal ones have equal texts.
func encode(items []item) string {
	var b []byte
	for _, it := range items {
		b = append(append(b, it.Name...), 0)
		b = strconv.AppendInt(b, int64(it.TTL), 10)
		for _, word := range it.Words {
			b = append(append(b, 1), word...)
		}
		for _, score := range it.Scores {
			b = strconv.AppendFloat(append(b, 2), score, 'f', -1, 64)
		}
		b = append(b, 3)
	}
	return string(b)
}

// find is a key, or nil.
func (k *keys) find(name string) *item {
	for i := range k.items {
		if k.items[i].Name == name {
			return &k.items[i]
		}
	}
	return nil
}

// String shows the keys for a trace.
func (k *keys) String() string {
	if len(k.items) == 0 {
		return "    (nothing)\n"
	}
	var b strings.Builder
	for _, it := range k.items {
		fmt.Fprintf(&b, "    %s = %s", it.Name, strings.Join(it.Words, " "))
		if len(it.Scores) > 0 {
			fmt.Fprintf(&b, " at %v", it.Scores)
		}
		if it.TTL != embedded.None {
			fmt.Fprintf(&b, ", for %v", it.TTL)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
