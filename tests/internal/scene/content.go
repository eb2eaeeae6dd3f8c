package scene

import (
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/redlatch/redlatch"
)

// What Redis has: all of it, compared with what the holds say.

// Taken is a hold and the way in which it was taken.
type Taken struct {
	*redlatch.Hold
	Way
}

// others are keys that expire by themselves: those of waiters for a fair lock, and records of requests.
var others = regexp.MustCompile("^redisson_lock_|^redlatch:(fair|request):")

// Redis is all that the servers have: each key with what is in it.
func (s *Scene) Redis() string {
	var all []string
	for i, p := range s.Posts {
		m := p.Memory.Miniredis()
		for _, key := range m.Keys() {
			if !others.MatchString(key) {
				all = append(all, fmt.Sprintf("%d/%s:%s", i, key, content(m, key)))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func content(m *miniredis.Miniredis, key string) string {
	var parts []string
	switch m.Type(key) {
	case "hash":
		fields, _ := m.HKeys(key)
		for _, field := range fields {
			parts = append(parts, field+"="+m.HGet(key, field))
		}
	case "zset":
		ids, _ := m.ZMembers(key)
		for _, id := range ids {
			parts = append(parts, hex.EncodeToString([]byte(id)))
		}
	case "string":
		text, _ := m.Get(key)
		parts = append(parts, text)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// Expected is what Redis should have if these are all holds there are.
func (s *Scene) Expected(holds ...Taken) string {
	fields := make(map[string]map[string]int) // of a hash, by its key
	rest := make(map[string]string)           // all other keys
	var ids []string
	for _, h := range holds {
		parts := h.Members()
		if parts == nil {
			parts = []*redlatch.Hold{h.Hold}
		}
		for _, one := range parts {
			id, _, _ := strings.Cut(one.Owner(), ":")
			at := fmt.Sprintf("%d/%s", s.place[id], one.Name())
			if fields[at] == nil {
				fields[at] = make(map[string]int)
			}
			if s.Sort == Cohort { // each turn of one hold has its owner
				delete(fields[at], one.Owner())
			}
			switch h.mode {
			case writing:
				fields[at][one.Owner()+":write"]++
			case counted:
				ids = append(ids, one.Owner())
			default:
				fields[at][one.Owner()]++
			}
			if h.mode == reading {
				rest[fmt.Sprintf("0/{job}:%s:rwlock_timeout:%d", one.Owner(), fields[at][one.Owner()])] = "1"
			}
		}
	}
	if s.Lock.mode == counted {
		fields, rest["0/job"] = nil, strconv.Itoa(s.permits-len(ids))
		if slices.Sort(ids); len(ids) > 0 {
			rest["0/{job}:timeout"] = strings.Join(ids, ",")
		}
	}
	for key, counts := range fields {
		rest[key] = s.hash(counts)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		all = append(all, key+":"+rest[key])
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// hash is the content of a hash with these counts, and with a mode if it is a read-write lock.
func (s *Scene) hash(counts map[string]int) string {
	var parts []string
	mode := "mode=read"
	for field, n := range counts {
		parts = append(parts, fmt.Sprintf("%s=%d", field, n))
		if strings.HasSuffix(field, ":write") {
			mode = "mode=write"
		}
	}
	if s.Rival.mode == writing {
		parts = append(parts, mode)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// Holds fails unless Redis has these holds and no others. What goes on behind a call has two seconds.
func (s *Scene) Holds(when string, holds ...Taken) {
	s.Helper()
	time.Sleep(2 * time.Second)
	if got, want := s.Redis(), s.Expected(holds...); got != want {
		s.Errorf("%s: Redis has %q, want %q", when, got, want)
	}
	for _, h := range holds {
		if !h.Valid() {
			s.Errorf("%s: a hold is not valid: %v", when, h.Err())
		}
	}
}

// Left is the shortest time for which Redis keeps the lock, and zero if it has none.
func (s *Scene) Left() (least time.Duration) {
	for _, p := range s.Posts {
		m := p.Memory.Miniredis()
		for _, key := range m.Keys() {
			left := m.TTL(key)
			if others.MatchString(key) {
				continue
			}
			if ids, err := m.ZMembers(key); s.Lock.mode == counted && err == nil {
				for _, id := range ids {
					end, _ := m.ZScore(key, id)
					left = time.Until(time.UnixMilli(int64(end)))
				}
			}
			if left > 0 && (least == 0 || left < least) {
				least = left
			}
		}
	}
	return least
}
