package explore

import (
	"slices"
	"strconv"
	"strings"

	"github.com/redlatch/redlatch/internal/protocol"
)

const lockName = "L"

// lock is a lock as it is in Redis.
type lock struct {
	mode   string
	ttl    int32
	fields []field
}

// field is one owner in it.
type field struct {
	name  string
	count int
	left  int32 // the longest TTL of its timeout keys, 0 without
}

// lock reads the lock of a name; nil if it is free.
func (k *keys) lock(name string) *lock {
	if l, known := k.locks[name]; known {
		return l
	}
	if k.locks == nil {
		k.locks = map[string]*lock{}
	}
	var l *lock
	if it := k.find(name); it != nil && it.Kind == "hash" {
		l = &lock{ttl: millis(it.TTL)}
		for i := 0; i < len(it.Words); i += 2 {
			if it.Words[i] == "mode" {
				l.mode = it.Words[i+1]
				continue
			}
			f := field{name: it.Words[i]}
			f.count, _ = strconv.Atoi(it.Words[i+1])
			for _, other := range k.items {
				if strings.HasPrefix(other.Name, "{"+name+"}:"+f.name+":rwlock_timeout:") {
					f.left = max(f.left, millis(other.TTL))
				}
			}
			l.fields = append(l.fields, f)
		}
	}
	k.locks[name] = l
	return l
}

// field is that of a name, or nil.
func (l *lock) field(name string) *field {
	for i := 0; l != nil && i < len(l.fields); i++ {
		if l.fields[i].name == name {
			return &l.fields[i]
		}
	}
	return nil
}

// names are those of the fields.
func (l *lock) names() (all []string) {
	for i := 0; l != nil && i < len(l.fields); i++ {
		all = append(all, l.fields[i].name)
	}
	return all
}

// counts says that a field has a count, where 0 is none.
func (l *lock) counts(field, count string) bool {
	f := l.field(field)
	return f == nil && count == "0" || f != nil && strconv.Itoa(f.count) == count
}

// names says that an owner is named anywhere in the keys.
func (k *keys) names(owner string) bool {
	return slices.ContainsFunc(k.items, func(it item) bool {
		return strings.Contains(it.Name, owner+":") || slices.ContainsFunc(it.Words, func(word string) bool { return strings.HasPrefix(word, owner) })
	})
}

// names says that an owner is named in a request.
func (r *request) names(owner string) bool {
	return slices.ContainsFunc(r.words, func(word string) bool { return strings.HasPrefix(word, owner) })
}

// lives says that an owner whose field is there holds the lock.
func (l *lock) lives(f *field) bool {
	return l.mode == "" || l.mode == "write" && strings.HasSuffix(f.name, ":write") || f.left > 0
}

// counter is the key of the token counter.
var counter = protocol.TokenKey(lockName)

// recount returns the value of the token counter, and sets it back to 1. Only its growth matters.
func recount(items []item) (token int) {
	for i := range items {
		if items[i].Name == counter {
			token, _ = strconv.Atoi(items[i].Words[0])
			items[i].Words = []string{"1"}
		}
	}
	return token
}
