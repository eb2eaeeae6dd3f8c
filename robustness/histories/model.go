package histories

// state is a lock without faults, and what may still happen to it. It is a value, so that states can
// be compared.
type state struct {
	holders [maxHolders]holder // in the order of their owners, empty ones last
	token   int64              // the last one given
	writers int8               // acquisitions of unknown outcome that have not happened, of the write side
	readers int8               // and of the read side
	pool    pool               // of permits, if it is a semaphore
}

// maxHolders bounds the holders of a lock at one moment. A history with more is refused.
const maxHolders = 12

// stranger is an owner whose acquisition has an unknown outcome. All of them are alike.
const stranger = -1

type holder struct {
	owner         int
	reads, writes int8
	lessReads     int8 // of reads: releases of unknown outcome that have not happened
	lessWrites    int8
	ending        bool // all of it may end at any moment
}

func (h holder) held() bool { return h.reads+h.writes > 0 }

// step returns the states that a lock may be in after it has given this answer. There is none if the
// answer is impossible. What may happen at any moment happens only when an answer needs it, or when it
// cannot happen later: fewer permits are left.
func (s state) step(o Operation) (next []any) {
	fewer := o.Verb == Resize && o.N < 0 && !o.Unknown
	tried := map[state]bool{}
	var try func(state)
	try = func(s state) {
		if tried[s] {
			return
		}
		tried[s] = true
		if after, possible := s.answer(o); possible {
			next = append(next, after)
			if !fewer {
				return
			}
		}
		for _, other := range s.moves() {
			try(other)
		}
	}
	try(s)
	return next
}

// answer is the state after an operation, if it can be answered so in this state.
func (s state) answer(o Operation) (after state, possible bool) {
	mine, others := s.without(o.Owner)
	switch {
	case o.Verb == Look:
		return s, s.seen() == o.Seen
	case o.Verb == Resize:
		s.pool = s.pool.resize(o)
		return s, true
	case o.Verb == End:
		mine.ending = true
		return others.with(mine)
	case o.Verb == Acquire && o.Unknown:
		if o.Read {
			s.readers++
		} else {
			s.writers += o.weight()
		}
		return s, true
	case o.Verb == Acquire && o.Refused:
		return s, !others.admits(o.Read, o.weight())
	case o.Verb == Drain && o.Unknown:
		s.writers += maxHolders
		return s, true
	case o.Verb == Drain:
		after, possible = others.with(mine.plus(false, int8(o.N)))
		return after, possible && max(others.available(), 0) == o.N
	case o.Verb == Acquire:
		others.token = max(s.token, o.Token)
		after, possible = others.with(mine.plus(o.Read, o.weight()))
		return after, possible && others.admits(o.Read, o.weight()) && (o.Token == 0 || o.Token > s.token)
	case o.Unknown:
		return others.with(mine.may(o.Read, o.weight()))
	}
	less, possible := mine.minus(o.Read, o.weight())
	after, _ = others.with(less)
	return after, possible
}

// moves are the states after one of the things that may happen at any moment.
func (s state) moves() (next []state) {
	for _, h := range s.holders {
		if h.owner == 0 {
			break
		}
		_, others := s.without(h.owner)
		if h.ending {
			next = append(next, others)
		}
		for _, less := range h.fewer() {
			if after, fits := others.with(less); fits {
				next = append(next, after)
			}
		}
	}
	for _, other := range s.pool.moves() {
		after := s
		after.pool = other
		next = append(next, after)
	}
	return append(next, s.strangers()...)
}

// strangers are the states after an acquisition of unknown outcome has happened.
func (s state) strangers() (next []state) {
	for _, read := range []bool{false, true} {
		mine, others := s.without(stranger)
		waiting := &others.writers
		if read {
			waiting = &others.readers
		}
		if *waiting == 0 || !s.admits(read, 1) {
			continue
		}
		*waiting--
		mine = mine.plus(read, 1).may(read, 1)
		if after, fits := others.with(mine); fits {
			next = append(next, after)
		}
	}
	return next
}

// admits says whether these holders let another owner acquire n permits, or the lock.
func (s state) admits(read bool, n int8) bool {
	if s.pool.made {
		return s.available() >= int(n)
	}
	for _, h := range s.holders {
		if h.writes > 0 || h.reads > 0 && !read {
			return false
		}
	}
	return true
}

func (s state) seen() (v Seen) {
	if s.pool.made {
		return Seen{Available: s.available()}
	}
	for _, h := range s.holders {
		switch {
		case h.owner == stranger:
			v.Holders += int(h.reads + h.writes) // each is an owner of its own
		case h.owner != 0:
			v.Holders++
		}
		v.Write = v.Write || h.writes > 0
	}
	v.Read = v.Holders > 0 && !v.Write
	return v
}

// without returns what an owner holds, and the state without it.
func (s state) without(owner int) (mine holder, others state) {
	others = s
	others.holders = [maxHolders]holder{}
	mine.owner = owner
	i := 0
	for _, h := range s.holders {
		if h.owner == owner {
			mine = h
		} else if h.owner != 0 {
			others.holders[i] = h
			i++
		}
	}
	return mine, others
}

// with returns the state with one more holder, if there is room and it holds anything.
func (s state) with(mine holder) (after state, fits bool) {
	if !mine.held() {
		return s, true
	}
	after = s
	for i, h := range s.holders {
		if h.owner == 0 || mine.owner < h.owner {
			copy(after.holders[i+1:], s.holders[i:])
			after.holders[i] = mine
			return after, s.holders[maxHolders-1].owner == 0
		}
	}
	return s, false
}

func (h holder) plus(read bool, n int8) holder {
	if read {
		h.reads += n
	} else {
		h.writes += n
	}
	return h
}

func (h holder) minus(read bool, n int8) (less holder, possible bool) {
	h = h.plus(read, -n)
	h.lessReads, h.lessWrites = min(h.lessReads, h.reads), min(h.lessWrites, h.writes)
	return h, h.reads >= 0 && h.writes >= 0
}

// may notes a release that may happen at any moment.
func (h holder) may(read bool, n int8) holder {
	if read {
		h.lessReads = min(h.lessReads+n, h.reads)
	} else {
		h.lessWrites = min(h.lessWrites+n, h.writes)
	}
	return h
}

// fewer is what is left after one of the releases that may happen.
func (h holder) fewer() (next []holder) {
	if h.lessReads > 0 {
		less := h
		less.reads, less.lessReads = h.reads-1, h.lessReads-1
		next = append(next, less)
	}
	if h.lessWrites > 0 {
		less := h
		less.writes, less.lessWrites = h.writes-1, h.lessWrites-1
		next = append(next, less)
	}
	return next
}
