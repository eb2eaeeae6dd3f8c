package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// guard are the moves of a protected client's watchdog. It renews any field of the client in a
// lock, by any session entry, at any time. A client that was paused for too long loses its holds.
func (w *world) guard(s state, i int, yield move) {
	c := &s.clients[i]
	if c.held() > 0 && !c.believes() {
		to := s
		to.clients[i] = client{}
		yield(to, "", func() string { return fmt.Sprintf("%s has heard nothing for too long", name(i)) })
	}
	_, sides := w.kinds[i].(readWrite)
	for _, field := range w.redis.all[s.keys].lock(w.kinds[i].lock()).names() {
		if !strings.HasPrefix(field, uuid(i)) {
			continue
		}
		entry := script.SessionEntry{
			Field: field, Lock: w.kinds[i].lock(), Count: int(w.maxHolds), Lease: time.Duration(w.longest()) * time.Millisecond * 3 / 4,
			Read: sides && !strings.HasSuffix(field, ":write"),
		}
		call, _ := script.SessionRenew(entry, epoch)
		r := w.redis.request(question{op: opGuard, who: i, number: field[len(uuid(i))+1] - '0'}, call)
		to := s
		_, fault := w.carryOut(&to, r)
		yield(to, fault, func() string { return fmt.Sprintf("a watchdog renews %s", field) })
	}
}
