package explore

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlatch/redlatch/internal/script"
)

// guard is what may happen to a client that is protected: a watchdog renews whatever of it stands
// in a lock, by whatever record, at any time; and a client that was paused for too long ends.
func (w *world) guard(s state, i int, yield move) {
	c := &s.clients[i]
	if c.held() > 0 && !c.believes() {
		to := s
		to.clients[i].lose()
		yield(to, "", func() string { return fmt.Sprintf("%s has heard nothing for too long", name(i)) })
	}
	_, sides := w.kinds[i].(readWrite)
	for _, field := range w.redis.all[s.keys].lock(w.kinds[i].lock()).names() {
		if !strings.HasPrefix(field, uuid(i)) {
			continue
		}
		entry := script.SessionEntry{
			Field: field, Lock: w.kinds[i].lock(), Count: w.most, Lease: time.Duration(w.longest()) * time.Millisecond * 3 / 4,
			Read: sides && !strings.HasSuffix(field, ":write"),
		}
		call, _ := script.SessionRenew(entry, epoch)
		r := w.redis.request(opGuard, i, field[len(uuid(i))+1]-'0', call)
		to := s
		fault := w.carryOut(&to, r, nil)
		yield(to, fault, func() string { return fmt.Sprintf("a watchdog renews %s", field) })
	}
}
