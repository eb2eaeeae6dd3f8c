package explore

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/internal/script"
)

// quorum is what is explored of a Quorum of three servers with two clients: the shipped scripts of a
// mutex, and a model of how votes are counted. Servers restart without data, one at a time.
type quorum struct {
	world *world // one server by itself, which runs the scripts
	need  int    // how many members are a majority
	delay int32  // how long a restarted server does not count
}

const quorumLease = 2 * second

// moment is one state of a Quorum.
type moment struct {
	servers [3]seat
	voters  [2]voter
	late    [2]int32 // a request that may still be carried out, and where: the index of its server
	faults  uint8    // that may still happen
	resets  uint8    // restarts that may still happen
}

// seat is one server.
type seat struct {
	keys  int32
	young int32 // for how long it does not count
}

// voter is a client. It wants nothing, or asks for votes, or holds.
type voter struct {
	number uint8 // of its owners; 0: it wants nothing
	formed bool  // it holds
	votes  [3]vote
}

// vote is what a voter has of one member.
type vote struct {
	request int32 // under way; 0: none
	asked   int32
	answer  answer
	trusted int32 // until when it may be trusted; 0: it is not held
	spare   bool  // its server did not count
	gone    bool  // its server has restarted since
	open    bool  // it may be held
	refused bool
}

func newQuorum(mutations ...Mutation) (*quorum, error) {
	w, err := newWorld("mutex, two clients", mutations...)
	if err != nil {
		return nil, err
	}
	return &quorum{world: w, need: 2, delay: quorumLease}, nil
}

func (q *quorum) begin() moment { return moment{faults: 2, resets: 2, late: [2]int32{0, -1}} }

func (q *quorum) show(at moment) string {
	var b strings.Builder
	for i, s := range at.servers {
		fmt.Fprintf(&b, "  on server %d\n%s", i, q.world.redis.all[s.keys].String())
	}
	return b.String()
}

// like sorts the servers, which are interchangeable.
func (q *quorum) like(at *moment) moment {
	var places [3]place
	for m, s := range at.servers {
		late := int64(0)
		if at.late[1] == int32(m) {
			late = int64(at.late[0])
		}
		a, b := at.voters[0].votes[m].pack(), at.voters[1].votes[m].pack()
		places[m] = place{int64(s.keys)<<32 | int64(s.young), late, a[0], a[1], b[0], b[1], int64(m)}
	}
	slices.SortFunc(places[:], func(a, b place) int { return slices.Compare(a[:], b[:]) })
	to := *at
	for m, p := range places {
		from := p[6]
		to.servers[m] = at.servers[from]
		for i := range to.voters {
			to.voters[i].votes[m] = at.voters[i].votes[from]
		}
		if at.late[1] == int32(from) {
			to.late[1] = int32(m)
		}
	}
	return to
}

// place is a server and its votes, in numbers, and its index.
type place [7]int64

func (v vote) pack() [2]int64 {
	flags := int64(v.answer) << 4
	for i, set := range [...]bool{v.spare, v.gone, v.open, v.refused} {
		if set {
			flags |= 1 << i
		}
	}
	return [2]int64{int64(v.request)<<32 | int64(uint32(v.asked)), int64(v.trusted)<<8 | flags}
}

// believes says that a voter takes itself for the holder.
func (q *quorum) believes(v *voter) bool {
	n := 0
	for i := range v.votes {
		if v.votes[i].trusted > 0 {
			n++
		}
	}
	return v.formed && n >= q.need
}

// check says what is wrong with a state: two holders, or a member that is held and is not there.
func (q *quorum) check(at *moment) string {
	if q.believes(&at.voters[0]) && q.believes(&at.voters[1]) {
		return "two clients hold a majority"
	}
	for i := range at.voters {
		v := &at.voters[i]
		for m, one := range v.votes {
			l := q.world.redis.all[at.servers[m].keys].lock(lockName)
			if one.trusted > 0 && !one.gone && (l.field(owners[i][v.number]) == nil || l.ttl < one.trusted) {
				return fmt.Sprintf("%s trusts its member on server %d for %d ms, which Redis does not have for as long", name(i), m, one.trusted)
			}
		}
	}
	return ""
}

// moves yields everything that may happen next.
func (q *quorum) moves(s moment, yield func(to moment, fault string, say func() string)) {
	for i := range s.voters {
		for m := range s.servers {
			q.ask(s, i, m, yield)
			q.deliver(s, i, m, yield)
			q.renew(s, i, m, yield)
		}
		q.leave(s, i, yield)
	}
	if s.late[1] >= 0 {
		to, m := s, s.late[1]
		r := q.world.redis.requests[s.late[0]]
		to.late = [2]int32{0, -1}
		_, fault := q.carryOut(&to, int(m), r)
		yield(to, fault, func() string { return q.world.describe(r, "a late %s is carried out on server %d", r.op, m) })
	}
	for m := range s.servers {
		q.restart(s, m, yield)
	}
	to := s
	q.pass(&to, second)
	if to != s {
		yield(to, "", func() string { return fmt.Sprintf("%d ms pass", second) })
	}
}

// restart loses the data of a server. No other one is restarted before it counts again.
func (q *quorum) restart(s moment, m int, yield func(to moment, fault string, say func() string)) {
	if s.resets == 0 || s.servers[(m+1)%3].young+s.servers[(m+2)%3].young > 0 || s.servers[m].keys == 0 {
		return
	}
	to := s
	to.resets--
	to.servers[m] = seat{young: quorumLease}
	for i := range to.voters {
		to.voters[i].votes[m].gone = to.voters[i].votes[m].trusted > 0 || to.voters[i].votes[m].answer == granted
	}
	yield(to, "", func() string { return fmt.Sprintf("server %d restarts empty", m) })
}

// pass lets time pass.
func (q *quorum) pass(s *moment, ms int32) {
	for m := range s.servers {
		one := &s.servers[m]
		one.keys = q.world.redis.after(q.world.redis.all[one.keys], ms).id
		one.young = max(one.young-ms, 0)
	}
	for i := range s.voters {
		v := &s.voters[i]
		for m := range v.votes {
			one := &v.votes[m]
			if one.trusted = max(one.trusted-ms, 0); one.trusted == 0 && one.request == 0 {
				one.gone, one.spare = false, false
			}
			if one.request != 0 {
				one.asked = max(one.asked-ms, -2*quorumLease)
			}
		}
		q.count(v)
	}
}

// count has a voter hold if it has a majority that counts, and lose if it has too few. Once it holds,
// every member counts.
func (q *quorum) count(v *voter) {
	n := 0
	for _, one := range v.votes {
		if one.trusted > 0 && (v.formed || !one.spare) {
			n++
		}
	}
	switch {
	case n >= q.need:
		v.formed = true
	case v.formed:
		*v = voter{} // it is told, and its members end with their leases
	}
}

func (q *quorum) carryOut(s *moment, m int, r *request) (*outcome, string) {
	at := state{keys: s.servers[m].keys}
	var f pending
	fault := q.world.carryOut(&at, r, &f)
	s.servers[m].keys = at.keys
	return &outcome{answer: f.answer}, fault
}

func (q *quorum) request(op op, i int, number uint8) *request {
	ask := question{op: op, who: i, number: number, lease: quorumLease, counts: script.Counts{Writes: 1}}
	if op == opFree {
		ask.lease, ask.counts = 0, script.Counts{}
	}
	return q.world.redis.requests[q.world.request(ask)]
}

// unused is a number for new owners, which nothing names.
func (q *quorum) unused(s *moment, i int) uint8 {
	for number := uint8(1); ; number++ {
		free := true
		for _, one := range s.servers {
			free = free && !q.world.redis.all[one.keys].names(owners[i][number])
		}
		if r := q.world.redis.requests[s.late[0]]; r != nil && r.who == i && r.number == number {
			free = false
		}
		if free {
			return number
		}
	}
}

// trustAfter is until when what was asked for then may be trusted.
func trustAfter(asked int32) int32 { return max(trust(pending{asked: asked, span: quorumLease}), 0) }
