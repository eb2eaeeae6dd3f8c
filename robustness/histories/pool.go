package histories

// pool is what makes a lock a semaphore: the number of its permits. Whoever has permits is a holder, with as
// many counts of the write side.
type pool struct {
	made    bool
	permits int8
	more    int8 // changes by one of unknown outcome that have not happened
	fewer   int8
}

// weight is how many permits an operation is about. A lock has one.
func (o Operation) weight() int8 { return int8(max(o.N, 1)) }

// available is how many permits can be acquired. It is negative if more are held than there are.
func (s state) available() int {
	n := int(s.pool.permits)
	for _, h := range s.holders {
		n -= int(h.writes)
	}
	return n
}

func (p pool) resize(o Operation) pool {
	p.made = true
	switch {
	case !o.Unknown:
		p.permits += int8(o.N)
	case o.N > 0:
		p.more += int8(o.N)
	default:
		p.fewer -= int8(o.N)
	}
	return p
}

// moves are the pools after one of the changes that may happen.
func (p pool) moves() (next []pool) {
	if p.more > 0 {
		after := p
		after.permits, after.more = p.permits+1, p.more-1
		next = append(next, after)
	}
	if p.fewer > 0 {
		after := p
		after.permits, after.fewer = p.permits-1, p.fewer-1
		next = append(next, after)
	}
	return next
}
