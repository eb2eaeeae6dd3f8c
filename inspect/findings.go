package inspect

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlatch/redlatch/internal/protocol"
	"github.com/redlatch/redlatch/internal/script"
)

// The codes of findings. Later releases do not change them.
const (
	CodeNoTTL           = "no-ttl"           // the lock has no expiry
	CodeDeadReader      = "dead-reader"      // a reader has no timeout key
	CodeQueueMismatch   = "queue-mismatch"   // the list and the set of a fair lock disagree
	CodeAbandonedQueue  = "abandoned-queue"  // a fair lock is free, and all waiters in its queue count as dead
	CodeOrphanedTimeout = "orphaned-timeout" // a timeout key belongs to a reader that does not hold the lock
	CodeNoConnection    = "no-connection"    // the process of a holder has no connection
	CodeForeignOwner    = "foreign-owner"    // no known client writes such an owner: the key may be data
	CodeWrongType       = "wrong-type"       // the key has other data
	CodeEndlessPermit   = "endless-permit"   // a permit has no expiry
	CodeNoCounter       = "no-counter"       // permits are in use, and the semaphore is gone
)

func wrongType(name string) Finding {
	return Finding{CodeWrongType, fmt.Sprintf("The key %s is other data and no lock: use another name for the lock, or move the data.", protocol.Show(name))}
}

// findingsIn are the findings that need nothing but the keys of a lock.
func findingsIn(l Lock, found script.Inspected) []Finding {
	var all []Finding
	add := func(code, format string, args ...any) { all = append(all, Finding{code, fmt.Sprintf(format, args...)}) }
	name := protocol.Show(l.Name)
	if l.Mode != "" && found.TTL < 0 {
		add(CodeNoTTL, "The lock has no expiry, so it stays if its holder dies: if nobody works under it, run: %s", protocol.UnlockCommand(firstOwner(l), l.Name))
	}
	for _, field := range found.Holders {
		if owner := ownerOf(found.Mode, field.Name); !isOwner(owner) {
			add(CodeForeignOwner, "The owner %s is none that redlatch or Redisson writes: if the key %s is data, use another name for the lock.", protocol.Show(owner), name)
			break
		}
	}
	if dead := deadReaders(found); len(dead) > 0 {
		add(CodeDeadReader, "The reader %s has no timeout key, so it is dead (%d such readers): the next writer removes it, and nothing needs to be done unless Java before Redisson 3.8.1 reads.", protocol.Show(dead[0]), len(dead))
	}
	if why := queueMismatch(found); why != "" {
		add(CodeQueueMismatch, "%s: if waiters do not get the lock, and neither %s nor %s is other data, stop the waiters and delete both keys.", why, protocol.Show(protocol.FairQueue(l.Name)), protocol.Show(protocol.FairDeadlines(l.Name)))
	} else if abandoned(found) {
		add(CodeAbandonedQueue, "The lock is free, and the deadlines of all %d waiters have passed: the next who asks for the lock removes them, so nothing needs to be done.", found.Queued)
	}
	return all
}

func firstOwner(l Lock) string {
	if len(l.Holders) == 0 {
		return "OWNER"
	}
	return l.Holders[0].Owner
}

// life says whether a reader is alive.
type life int

const (
	alive life = iota
	dead
	unsure // nothing says so
)

// isDead says whether a reader is dead, by its timeout keys. Without an expiry, or with an owner that
// nobody writes, the hash may be data.
func isDead(found script.Inspected, field script.InspectedField) life {
	switch {
	case len(field.Left) < field.Count:
		return unsure // not all were read
	case slices.ContainsFunc(field.Left, func(left time.Duration) bool { return left != missing }):
		return alive
	case found.TTL < 0 || !isOwner(field.Name):
		return unsure
	}
	return dead
}

func deadReaders(found script.Inspected) (owners []string) {
	for _, field := range found.Holders {
		if len(field.Left) > 0 && isDead(found, field) == dead {
			owners = append(owners, field.Name)
		}
	}
	return owners
}

// queueMismatch says how the list and the set of a fair lock disagree, "" if they do not.
func queueMismatch(found script.Inspected) string {
	switch {
	case found.Queued < 0:
		return "The key of the queue is no list"
	case found.Timed < 0:
		return "The key of the deadlines is no sorted set"
	case found.Queued != found.Timed:
		return fmt.Sprintf("The queue has %d waiters, and %d deadlines", found.Queued, found.Timed)
	}
	for _, w := range found.Queue {
		if w.Deadline.IsZero() {
			return fmt.Sprintf("The waiter %s has no deadline", protocol.Show(w.Owner))
		}
	}
	return ""
}

// abandoned says that nobody takes a free fair lock: every waiter counts as dead.
func abandoned(found script.Inspected) bool {
	return found.Mode == "" && len(found.Queue) > 0 && len(found.Queue) == found.Queued &&
		!slices.ContainsFunc(found.Queue, func(w script.Queued) bool { return !w.Deadline.Before(found.Now) })
}

// noConnection is about a holder whose client had a connection, or has a session, and has none now.
func noConnection(name string, h Holder) Finding {
	return Finding{CodeNoConnection, fmt.Sprintf("The process of %s has no connection to this server: if it has died, the lock is free when its time is over, or run: %s",
		protocol.Show(h.Owner), protocol.UnlockCommand(h.Owner, name))}
}

// orphans is about timeout keys of readers that do not hold the lock.
func orphans(n int, key string) Finding {
	return Finding{CodeOrphanedTimeout, fmt.Sprintf("%d timeout keys belong to readers that do not hold the lock, such as %s: they expire by themselves, and keys without an expiry can be deleted.", n, protocol.Show(key))}
}
