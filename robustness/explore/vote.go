package explore

// ask are the moves of a voter that asks a member: it is answered at once, or other things happen
// before and after.
func (q *quorum) ask(s moment, i, m int, yield func(to moment, fault string, say func() string)) {
	v := &s.voters[i]
	if one := &v.votes[m]; one.request != 0 || one.trusted > 0 || one.refused || one.open {
		return
	}
	if v.number == 0 {
		v.number = q.unused(&s, i)
	}
	r := q.request(opLock, i, v.number)
	v.votes[m] = vote{request: r.id}
	if s.underWay() <= maxUnderWay {
		yield(s, "", func() string { return q.world.describe(r, "asks server %d", m) })
	}
	q.answerNow(s, i, m, yield)
	if s.faults > 0 {
		s.faults--
		q.lose(s, i, m, yield)
	}
}

// underWay is how many requests are.
func (s *moment) underWay() (n int) {
	for _, v := range s.voters {
		for _, one := range v.votes {
			if one.request != 0 {
				n++
			}
		}
	}
	return n
}

// answerNow carries a request out, and has the voter read the answer.
func (q *quorum) answerNow(s moment, i, m int, yield func(to moment, fault string, say func() string)) {
	one := &s.voters[i].votes[m]
	r := q.world.redis.requests[one.request]
	done, fault := q.carryOut(&s, m, r)
	one.answer, one.gone = done.answer, false
	q.read(&s, i, m)
	yield(s, fault, func() string { return q.world.describe(r, "has server %d answer its %s: %s", m, r.op, done.answer) })
}

// lose loses a request, its reply, or both for now: it arrives late.
func (q *quorum) lose(s moment, i, m int, yield func(to moment, fault string, say func() string)) {
	one := &s.voters[i].votes[m]
	r := q.world.redis.requests[one.request]
	before := one.answer == unanswered
	*one = vote{open: true}
	if !before {
		yield(s, "", func() string { return q.world.describe(r, "does not hear server %d", m) })
		return
	}
	yield(s, "", func() string { return q.world.describe(r, "does not reach server %d", m) })
	if s.late[1] < 0 {
		to := s
		to.late = [2]int32{r.id, int32(m)}
		yield(to, "", func() string { return q.world.describe(r, "reaches server %d late", m) })
	}
	_, fault := q.carryOut(&s, m, r)
	yield(s, fault, func() string { return q.world.describe(r, "reaches server %d, and does not hear it", m) })
}

// deliver are the moves of a request under way.
func (q *quorum) deliver(s moment, i, m int, yield func(to moment, fault string, say func() string)) {
	one := &s.voters[i].votes[m]
	if one.request == 0 {
		return
	}
	r := q.world.redis.requests[one.request]
	if one.answer == unanswered {
		q.answerNow(s, i, m, yield)
		to := s
		done, fault := q.carryOut(&to, m, r)
		to.voters[i].votes[m].answer, to.voters[i].votes[m].gone = done.answer, false
		yield(to, fault, func() string {
			return q.world.describe(r, "has its %s carried out on server %d: %s", r.op, m, done.answer)
		})
	} else {
		to := s
		q.read(&to, i, m)
		yield(to, "", func() string { return q.world.describe(r, "reads the answer of server %d: %s", m, one.answer) })
	}
	if s.faults > 0 {
		s.faults--
		q.lose(s, i, m, yield)
	}
}

// read takes an answer. Whether the server counts is asked after the grant.
func (q *quorum) read(s *moment, i, m int) {
	v := &s.voters[i]
	one := &v.votes[m]
	switch was := *one; {
	case was.answer != granted:
		*one = vote{refused: !v.formed}
	case trustAfter(was.asked) == 0:
		*one = vote{open: true}
	default:
		*one = vote{trusted: trustAfter(was.asked), gone: was.gone, spare: s.servers[m].young > quorumLease-q.delay}
	}
	q.count(v)
}

// renew are the moves of a holder that renews a member.
func (q *quorum) renew(s moment, i, m int, yield func(to moment, fault string, say func() string)) {
	v := &s.voters[i]
	one := &v.votes[m]
	if one.trusted == 0 || one.request != 0 {
		return
	}
	r := q.request(opRenew, i, v.number)
	done, fault := q.carryOut(&s, m, r)
	heard := s
	if now := &heard.voters[i].votes[m]; done.answer == granted {
		now.trusted = trustAfter(0)
	} else {
		*now = vote{}
	}
	q.count(&heard.voters[i])
	yield(heard, fault, func() string { return q.world.describe(r, "does a %s on server %d: %s", r.op, m, done.answer) })
	if s.faults > 0 {
		s.faults--
		yield(s, fault, func() string { return q.world.describe(r, "does a %s on server %d unheard", r.op, m) })
	}
}

// leave are the moves of a voter that releases everything, or does not reach one of the servers.
func (q *quorum) leave(s moment, i int, yield func(to moment, fault string, say func() string)) {
	v := s.voters[i]
	if v.number == 0 {
		return
	}
	for missed := -1; missed < len(s.servers); missed++ {
		to, fault := s, ""
		if missed >= 0 {
			if one := v.votes[missed]; to.faults == 0 || one.trusted == 0 && !one.open {
				continue
			}
			to.faults--
		}
		to.voters[i] = voter{}
		for m, one := range v.votes {
			if one.request != 0 && one.answer == unanswered && to.late[1] < 0 {
				to.late = [2]int32{one.request, int32(m)}
			}
			if wrong := ""; m != missed && (one.trusted > 0 || one.open || one.answer == granted) {
				if _, wrong = q.carryOut(&to, m, q.request(opFree, i, v.number)); fault == "" {
					fault = wrong
				}
			}
		}
		r := q.request(opFree, i, v.number)
		yield(to, fault, func() string {
			if missed >= 0 {
				return q.world.describe(r, "releases all members but that on server %d", missed)
			}
			return q.world.describe(r, "releases all members")
		})
	}
}
