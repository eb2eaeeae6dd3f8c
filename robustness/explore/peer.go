package explore

import "fmt"

const firstPeer = 4

// thread is a peer: a thread of a Redisson client, with a watchdog. Its requests are answered at
// once. Redisson counts by adding, so a request that is carried out twice leaves a lock that is
// held for ever. That is known, and these scripts cannot prevent it.
type thread struct {
	lock, unlock, renew string // its scripts
	leave               string // the queue; "" if there is none
	field               string // what follows the owner's name
	read, once          bool   // of several holds Redisson adds the leases, or loses one: its own affair
}

// lease is that of Redisson's watchdog.
const lease = 2 * second

func (t thread) moves(w *world, s state, i int, yield move) {
	p := s.peers[i]
	who := firstPeer + i
	ask := func(what, text string) (state, answer) {
		to := s
		r := w.redis.enter(question{op: opPeer, who: who, number: 1}, text, javaKeys, t.words(owners[who][1]))
		said, fault := w.carryOut(&to, r)
		t.note(&to.peers[i], what, said)
		yield(to, fault, func() string { return fmt.Sprintf("%s does a %s: %s", name(who), what, said) })
		return to, said
	}
	if p.count == 0 || p.count == 1 && !t.once {
		ask("lock", t.lock)
	}
	ask("unlock", t.unlock)
	if p.count > 0 {
		ask("renewal", t.renew)
	}
	if t.leave != "" && p.count == 0 {
		ask("departure", t.leave)
	}
}

// note notes an answer to a peer.
func (t thread) note(p *peer, what string, said answer) {
	switch {
	case what == "departure" || said == refused:
	case said == gone:
		*p = peer{}
	case what == "lock" && said == granted:
		p.count, p.reads, p.until = p.count+1, t.read, lease
	case what == "renewal" && said == granted || what == "unlock" && said == remains && p.count > 1:
		p.until = lease
		if what == "unlock" {
			p.count--
		}
	case what == "unlock":
		*p = peer{}
	}
}

func readPeer(said string) answer {
	return map[string]answer{"granted": granted, "refused": refused, "gone": gone, "remains": remains, "freed": freed}[said]
}
