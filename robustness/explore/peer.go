package explore

import (
	"fmt"
	"time"

	"github.com/redlatch/redlatch/robustness/internal/redisson"
)

const firstPeer = 4

// thread is a peer: a thread of a Redisson client, with a watchdog. Its requests are answered at
// once. Redisson counts by adding, so a request that is carried out twice leaves a lock that is
// held for ever. That is known, and these scripts cannot prevent it.
type thread struct{ redisson.Thread }

// lease is that of Redisson's watchdog.
const lease = 2 * second

func (t thread) moves(w *world, s state, i int, yield move) {
	p := s.peers[i]
	who := firstPeer + i
	ask := func(what, text string) (state, answer) {
		to := s
		words := t.Arguments(lockName, owners[who][1], lease*time.Millisecond, slot*time.Millisecond)
		r := w.redis.enter(question{op: opPeer, who: who, number: 1}, text, redisson.Keys(lockName), words)
		said, fault := w.carryOut(&to, r)
		t.note(&to.peers[i], what, said)
		yield(to, fault, func() string { return fmt.Sprintf("%s does a %s: %s", name(who), what, said) })
		return to, said
	}
	if p.count == 0 || p.count == 1 && !t.Once {
		ask("lock", t.Lock)
	}
	ask("unlock", t.Unlock)
	if p.count > 0 {
		ask("renewal", t.Renew)
	}
	if t.Leave != "" && p.count == 0 {
		ask("departure", t.Leave)
	}
}

// note notes an answer to a peer.
func (t thread) note(p *peer, what string, said answer) {
	switch {
	case what == "departure" || said == refused:
	case said == gone:
		*p = peer{}
	case what == "lock" && said == granted:
		p.count, p.reads, p.until = p.count+1, t.Read, lease
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
