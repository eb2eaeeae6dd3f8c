package explore

// send yields the moves of a request that leaves: it is under way, or answered at once.
func (w *world) send(s state, i int, renewal bool, yield move) {
	r := w.redis.requests[s.clients[i].pending(renewal).request]
	if s.underWay() <= maxUnderWay {
		yield(s, "", func() string { return w.describe(r, "sends a %s", r.op) })
	}
	w.roundTrip(s, i, renewal, yield)
}

func (w *world) roundTrip(s state, i int, renewal bool, yield move) {
	f := s.clients[i].pending(renewal)
	r := w.redis.requests[f.request]
	fault := w.carryOut(&s, r, f)
	said := f.answer
	w.read(&s, i, renewal)
	yield(s, fault, func() string { return w.describe(r, "does a %s: %s", r.op, said) })
}

func (c *client) pending(renewal bool) *pending {
	if renewal {
		return &c.renewal
	}
	return &c.call
}

// deliver yields what may happen to a request under way.
func (w *world) deliver(s state, i int, renewal bool, yield move) {
	f := *s.clients[i].pending(renewal)
	if f.request == 0 {
		return
	}
	r := w.redis.requests[f.request]
	if f.answer == unanswered {
		w.roundTrip(s, i, renewal, yield)
		to := s
		fault := w.carryOut(&to, r, to.clients[i].pending(renewal))
		yield(to, fault, func() string {
			return w.describe(r, "has its %s carried out: %s", r.op, to.clients[i].pending(renewal).answer)
		})
	} else {
		to := s
		w.read(&to, i, renewal)
		yield(to, "", func() string { return w.describe(r, "reads the reply to its %s: %s", r.op, f.answer) })
	}
	if s.faults == 0 {
		return
	}
	s.faults--
	w.cut(s, i, renewal, "lost", yield)
	if f.answer == unanswered && s.late[maxLate-1] == 0 {
		s.late[maxLate-1] = f.request
		s.sort()
		w.cut(s, i, renewal, "late", yield)
	}
}

// cut breaks the connection of a request. Its sender sends it again, or cancels.
func (w *world) cut(s state, i int, renewal bool, how string, yield move) {
	c := &s.clients[i]
	f := c.pending(renewal)
	r := w.redis.requests[f.request]
	if f.answer != unanswered {
		how = "unheard"
	}
	if !renewal {
		again := s
		g := again.clients[i].pending(renewal)
		g.asked, g.answer = 0, unanswered
		yield(again, "", func() string { return w.describe(r, "has its %s %s, and sends it again", r.op, how) })
	}
	want := f.want
	*f = pending{}
	switch {
	case renewal:
	case r.op == opLock || r.op == opLockAll:
		for j := i; j == i || r.op == opLockAll && j == i+1; j++ {
			s.clients[j].unconfirmed, s.clients[j].joined = true, false
			w.cancel(&s, j)
		}
	case r.op == opLower:
		c.over = c.over || !w.wants[want].read && w.counts(c).Writes == 0
	}
	c.reset()
	yield(s, "", func() string { return w.describe(r, "has its %s %s, and cancels", r.op, how) })
}

// read takes a reply, as a grant does.
func (w *world) read(s *state, i int, renewal bool) {
	c := &s.clients[i]
	f := *c.pending(renewal)
	r := w.redis.requests[f.request]
	*c.pending(renewal) = pending{}
	switch {
	case renewal && (c.number != r.number || c.held() == 0 || f.answer == unclear): // it says nothing
	case renewal && f.answer == granted:
		c.confirm(f)
	case renewal:
		c.lose()
	case r.op == opLockAll:
		s.clients[i+1].joined = false
		w.readGrant(&s.clients[i+1], f)
		w.readGrant(c, f)
	case r.op == opLock:
		w.readGrant(c, f)
	case r.op == opRaise && f.answer == granted && c.ended:
		w.ask(s, i, opCancel, 0)
	case r.op == opRaise && f.answer == granted:
		w.granted(c, f)
	case r.op == opRaise || r.op == opLower && f.answer == gone:
		c.lose()
	case r.op == opLower && !c.ended:
		c.confirm(f)
	}
	c.reset()
}

// readGrant takes the reply to the first request of an owner. A grant that comes too late does
// not count.
func (w *world) readGrant(c *client, f pending) {
	switch {
	case f.answer != granted:
		c.unconfirmed, c.queued = false, w.queues
	case trust(f) <= 0:
		c.unconfirmed = true
	default:
		c.unconfirmed, c.queued = false, false
		w.granted(c, f)
	}
}

func (w *world) granted(c *client, f pending) {
	c.add(f.want)
	c.fenced = c.fenced || w.wants[f.want].tokens > 0
	c.confirm(f)
}
