package explore

// send is a request that has left: it is on its way, or answered at once.
func (w *world) send(s state, i int, renewal bool, yield move) {
	r := w.redis.requests[s.clients[i].flight(renewal).request]
	if s.underWay() <= w.abreast {
		yield(s, "", func() string { return w.tell(r, "sends a %s", r.op) })
	}
	w.roundTrip(s, i, renewal, yield)
}

func (w *world) roundTrip(s state, i int, renewal bool, yield move) {
	f := s.clients[i].flight(renewal)
	r := w.redis.requests[f.request]
	fault := w.carryOut(&s, r, f)
	said := f.answer
	w.read(&s, i, renewal)
	yield(s, fault, func() string { return w.tell(r, "does a %s: %s", r.op, said) })
}

func (c *client) flight(renewal bool) *flight {
	if renewal {
		return &c.renewal
	}
	return &c.verb
}

// flights are what may happen to a request under way.
func (w *world) flights(s state, i int, renewal bool, yield move) {
	f := *s.clients[i].flight(renewal)
	if f.request == 0 {
		return
	}
	r := w.redis.requests[f.request]
	if f.answer == unanswered {
		w.roundTrip(s, i, renewal, yield)
		to := s
		fault := w.carryOut(&to, r, to.clients[i].flight(renewal))
		yield(to, fault, func() string {
			return w.tell(r, "has its %s carried out: %s", r.op, to.clients[i].flight(renewal).answer)
		})
	} else {
		to := s
		w.read(&to, i, renewal)
		yield(to, "", func() string { return w.tell(r, "hears of its %s: %s", r.op, f.answer) })
	}
	if s.faults == 0 {
		return
	}
	s.faults--
	w.cut(s, i, renewal, "lost", yield)
	if f.answer == unanswered && s.late[w.late-1] == 0 {
		s.late[w.late-1] = f.request
		s.sort()
		w.cut(s, i, renewal, "late", yield)
	}
}

// cut breaks the connection of a request. It is sent again, or its sender gives up.
func (w *world) cut(s state, i int, renewal bool, how string, yield move) {
	c := &s.clients[i]
	f := c.flight(renewal)
	r := w.redis.requests[f.request]
	if f.answer != unanswered {
		how = "unheard"
	}
	if !renewal {
		again := s
		g := again.clients[i].flight(renewal)
		g.asked, g.answer = 0, unanswered
		yield(again, "", func() string { return w.tell(r, "has its %s %s, and sends it again", r.op, how) })
	}
	want := f.want
	*f = flight{}
	switch {
	case renewal:
	case r.op == opLock || r.op == opLockAll:
		for j := i; j == i || r.op == opLockAll && j == i+1; j++ {
			s.clients[j].unsettled, s.clients[j].joined = true, false
			w.giveUp(&s, j)
		}
	case r.op == opLower:
		c.over = c.over || !w.wants[want].read && w.counts(c).Writes == 0
	}
	c.settle()
	yield(s, "", func() string { return w.tell(r, "has its %s %s, and gives up", r.op, how) })
}

// read reads a reply, as the type tenure does.
func (w *world) read(s *state, i int, renewal bool) {
	c := &s.clients[i]
	f := *c.flight(renewal)
	r := w.redis.requests[f.request]
	*c.flight(renewal) = flight{}
	switch {
	case renewal && (c.stay != r.stay || c.held() == 0 || f.answer == unclear): // it says nothing
	case renewal && f.answer == granted:
		c.confirm(f)
	case renewal:
		c.lose()
	case r.op == opLockAll:
		s.clients[i+1].joined = false
		w.bid(&s.clients[i+1], f)
		w.bid(c, f)
	case r.op == opLock:
		w.bid(c, f)
	case r.op == opRaise && f.answer == granted && c.ended:
		w.ask(s, i, opTakeBack, 0)
	case r.op == opRaise && f.answer == granted:
		w.gain(c, f)
	case r.op == opRaise || r.op == opLower && f.answer == gone:
		c.lose()
	case r.op == opLower && !c.ended:
		c.confirm(f)
	}
	c.settle()
}

// bid reads the reply to the first request of a stay. A grant that comes too late is none.
func (w *world) bid(c *client, f flight) {
	switch {
	case f.answer != granted:
		c.unsettled, c.standing = false, w.queues
	case trust(f) <= 0:
		c.unsettled = true
	default:
		c.unsettled, c.standing = false, false
		w.gain(c, f)
	}
}

func (w *world) gain(c *client, f flight) {
	c.add(f.want)
	c.fenced = c.fenced || w.wants[f.want].fenced
	c.confirm(f)
}
