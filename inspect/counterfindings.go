package inspect

import (
	"fmt"

	"github.com/redlatch/redlatch/internal/protocol"
)

// findingsOf are the findings about a semaphore with leased permits.
func findingsOf(c Counter, there bool) (all []Finding) {
	add := func(code, format string, args ...any) { all = append(all, Finding{code, fmt.Sprintf(format, args...)}) }
	if !there {
		add(CodeNoCounter, "The semaphore %s is gone, and its sorted set of permits, %s, has members: %d. If that key is other data, use another name for the semaphore, because TrySetPermits deletes the key. Otherwise call TrySetPermits. The holders lose their permits at the next renewal.",
			protocol.Show(c.Name), protocol.Show(protocol.PermitsInUse(c.Name)), c.InUse+c.Expired)
	}
	var endless []string
	for _, p := range c.Permits {
		if p.TTL < 0 {
			endless = append(endless, p.ID)
		}
	}
	if len(endless) > 0 {
		add(CodeEndlessPermit, "The permit %s never expires, so it stays in use if its holder dies (%d such permits): if nobody works under it, add a permit by AddPermits.",
			protocol.Show(endless[0]), len(endless))
	}
	return all
}

// noLock is about a key that somebody takes for a lock.
func noLock(name string) Finding {
	return Finding{CodeWrongType, fmt.Sprintf("The key %s is a number, such as that of a semaphore or a latch, and no lock: redlatch show prints it.", protocol.Show(name))}
}
