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

// item is one key.
type item struct {
	name   string
	kind   string
	words  []string  // a string, a list, the fields and values of a hash, the members of a set
	scores []float64 // of a sorted set: times, in milliseconds from now on
	ttl    int32     // in milliseconds; -1 without
}

const none = int32(-1)

// dump reads all keys of a server.
func dump(s *embedded.Server) []item {
	var items []item
	for _, k := range s.Keys() {
		it := item{name: k.Name, kind: k.Kind, words: k.Words, ttl: none}
		if k.TTL != embedded.None {
			it.ttl = int32(k.TTL.Milliseconds())
		}
		for _, score := range k.Scores {
			it.scores = append(it.scores, score-float64(epoch.UnixMilli()))
		}
		items = append(items, it)
	}
	return items
}

// load replaces the keys of a server by these.
func (k *keys) load(s *embedded.Server) {
	var all []embedded.Key
	for _, it := range k.items {
		one := embedded.Key{Name: it.name, Kind: it.kind, Words: it.words, TTL: embedded.None}
		if it.ttl != none {
			one.TTL = time.Duration(it.ttl) * time.Millisecond
		}
		for _, score := range it.scores {
			one.Scores = append(one.Scores, score+float64(epoch.UnixMilli()))
		}
		all = append(all, one)
	}
	s.Replace(all)
}

// longAgo is the earliest time that is told apart from earlier ones.
const longAgo = -30_000

// after returns the keys that are left some milliseconds later.
func (k *keys) after(ms int32) []item {
	var left []item
	for _, it := range k.items {
		if it.ttl != none {
			if it.ttl <= ms {
				continue
			}
			it.ttl -= ms
		}
		it.scores = slices.Clone(it.scores)
		for i := range it.scores {
			it.scores[i] = max(it.scores[i]-float64(ms), longAgo)
		}
		left = append(left, it)
	}
	return left
}

// encode writes keys so that equal ones have equal texts.
func encode(items []item) string {
	var b []byte
	for _, it := range items {
		b = append(append(b, it.name...), 0)
		b = strconv.AppendInt(b, int64(it.ttl), 10)
		for _, word := range it.words {
			b = append(append(b, 1), word...)
		}
		for _, score := range it.scores {
			b = strconv.AppendFloat(append(b, 2), score, 'f', -1, 64)
		}
		b = append(b, 3)
	}
	return string(b)
}

// find is a key, or nil.
func (k *keys) find(name string) *item {
	for i := range k.items {
		if k.items[i].name == name {
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
		fmt.Fprintf(&b, "    %s = %s", it.name, strings.Join(it.words, " "))
		if it.scores != nil {
			fmt.Fprintf(&b, " at %v", it.scores)
		}
		if it.ttl != none {
			fmt.Fprintf(&b, ", for %d ms", it.ttl)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](v T, err error) T {
	check(err)
	return v
}
