package embedded

import (
	"fmt"
	"slices"
	"time"
)

// Key is one key with its value.
type Key struct {
	Name, Kind string
	Words      []string  // a string, a list, the fields and values of a hash, the members of a set
	Scores     []float64 // of a sorted set
	TTL        time.Duration
}

// None is the TTL of a key without expiry.
const None = time.Duration(-1)

// Keys reads all keys, in the order of their names.
func (s *Server) Keys() (all []Key) {
	for _, name := range s.Miniredis.Keys() {
		k := Key{Name: name, Kind: s.Type(name), TTL: None}
		if ttl := s.TTL(name); ttl > 0 {
			k.TTL = ttl
		}
		switch k.Kind {
		case "string":
			k.Words = []string{must(s.Get(name))}
		case "list":
			k.Words = slices.Clone(must(s.List(name)))
		case "hash":
			for _, field := range must(s.HKeys(name)) {
				k.Words = append(k.Words, field, s.HGet(name, field))
			}
		case "zset":
			k.Words = must(s.ZMembers(name))
			for _, member := range k.Words {
				k.Scores = append(k.Scores, must(s.ZScore(name, member)))
			}
		}
		all = append(all, k)
	}
	return all
}

// Aged are the keys of which something is left when some time has passed.
func Aged(keys []Key, passed time.Duration) (left []Key) {
	for _, k := range keys {
		if k.TTL != None {
			if k.TTL -= passed; k.TTL <= 0 {
				continue
			}
		}
		left = append(left, k)
	}
	return left
}

// Replace replaces all keys.
func (s *Server) Replace(all []Key) {
	s.FlushAll()
	for _, k := range all {
		s.Put(k)
	}
}

// Put adds a key that is not there.
func (s *Server) Put(k Key) {
	switch k.Kind {
	case "string":
		must(0, s.Set(k.Name, k.Words[0]))
	case "list":
		must(s.Push(k.Name, slices.Clone(k.Words)...))
	case "hash":
		s.HSet(k.Name, k.Words...)
	case "zset":
		for i, member := range k.Words {
			must(s.ZAdd(k.Name, k.Scores[i], member))
		}
	}
	if k.TTL != None {
		s.SetTTL(k.Name, k.TTL)
	}
}

// must is for what cannot fail, since the type of the key is known.
func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("the embedded server: ", err))
	}
	return v
}
