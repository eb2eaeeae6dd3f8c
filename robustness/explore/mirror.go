package explore

import (
	"slices"
	"strings"
)

// mirror is the state in which the first half of two or four clients has changed places with the
// second. What can happen after the one can happen after the other, so one of the two is visited.
func (s *server) mirror(at state) state {
	for i := range s.half {
		at.clients[i], at.clients[s.half+i] = at.clients[s.half+i], at.clients[i]
	}
	for i := range at.clients {
		c := &at.clients[i]
		c.verb.request, c.renewal.request = s.mirrorRequest(c.verb.request), s.mirrorRequest(c.renewal.request)
	}
	for i := range at.late {
		at.late[i] = s.mirrorRequest(at.late[i])
	}
	at.sort()
	at.keys = s.mirrorKeys(at.keys)
	return at
}

// exchange makes the names of one half those of the other.
func exchange(half int) *strings.Replacer {
	var pairs []string
	for i := range half {
		pairs = append(pairs, uuid(i), uuid(half+i), uuid(half+i), uuid(i))
	}
	return strings.NewReplacer(pairs...)
}

func (s *server) swapped(words []string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = s.swap.Replace(words[i])
	}
	return words
}

func (s *server) mirrorRequest(id int32) int32 {
	if id == 0 {
		return 0
	}
	r := s.requests[id]
	if r.mirror == 0 {
		who := r.who
		if who < 2*s.half {
			who = (who + s.half) % (2 * s.half)
		}
		r.mirror = s.enter(r.op, who, r.stay, r.source, s.swapped(r.keys), s.swapped(r.words)).id
	}
	return r.mirror
}

func (s *server) mirrorKeys(id int32) int32 {
	k := s.all[id]
	if k.mirror == nil {
		items := slices.Clone(k.items)
		for i, it := range items {
			it.name, it.words, it.scores = s.swap.Replace(it.name), s.swapped(it.words), slices.Clone(it.scores)
			it.order()
			items[i] = it
		}
		slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
		k.mirror = s.intern(items)
	}
	return k.mirror.id
}

// order puts what has no order into one.
func (it *item) order() {
	step := 1
	switch it.kind {
	case "hash":
		step = 2
	case "zset":
	default:
		return
	}
	type entry struct {
		words []string
		score float64
	}
	var entries []entry
	for i := 0; i < len(it.words); i += step {
		e := entry{words: slices.Clone(it.words[i : i+step])}
		if it.scores != nil {
			e.score = it.scores[i]
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.words[0], b.words[0]) })
	for i, e := range entries {
		copy(it.words[i*step:], e.words)
		if it.scores != nil {
			it.scores[i] = e.score
		}
	}
}
