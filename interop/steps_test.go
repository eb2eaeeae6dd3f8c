//go:build interop

package interop_test

import (
	"time"
)

// step is one step of a script of two threads, and where the two libraries are known to
// leave different things: what Java leaves there is in the transcript already, ours is
// here.
type step struct {
	thread int
	do     func(name string) command
	ours   string // how our state differs: "old => new", or ""
	says   string // our message where Java says nothing
}

func on(thread int, verb func(kind, name string) command, kind string, lease time.Duration) step {
	return step{thread: thread, do: func(name string) command {
		c := verb(kind, name)
		if lease > 0 {
			c = c.leased(lease)
		}
		return c
	}}
}

// scripts are the steps; a lease of 30 s is the renewed one, 100 s a fixed one.
var scripts = map[string][]step{
	"mutex renewed": {
		on(1, lock, "mutex", 0), on(1, lock, "mutex", 0), on(2, tryLock, "mutex", 0),
		on(1, unlock, "mutex", 0), on(1, unlock, "mutex", 0),
		on(2, tryLock, "mutex", 0), on(2, unlock, "mutex", 0),
	},
	"mutex fixed": {
		on(1, lock, "mutex", 100*time.Second), on(1, lock, "mutex", 100*time.Second),
		on(1, unlock, "mutex", 0), on(1, unlock, "mutex", 0),
	},
	"mutex shorter inside": {
		on(1, lock, "mutex", 100*time.Second),
		// Redisson sets the TTL to the lease given last, also where that lowers it.
		leaving(on(1, lock, "mutex", 30*time.Second), "(30s) => (1m40s)"),
		leaving(on(1, unlock, "mutex", 0), "(30s) => (1m40s)"), on(1, unlock, "mutex", 0),
	},
	"mutex forced": {on(1, lock, "mutex", 0), on(2, forceUnlock, "mutex", 0), on(2, forceUnlock, "mutex", 0)},
	"fenced renewed": {
		on(1, lock, "fenced", 0), on(2, tryLock, "fenced", 0), on(1, unlock, "fenced", 0),
		on(2, tryLock, "mutex", 0), on(2, unlock, "mutex", 0),
		on(2, tryLock, "fenced", 0), on(2, unlock, "fenced", 0),
	},
	"fenced reentered": {
		on(1, lock, "fenced", 0),
		// A hold keeps its token; Redisson issues one for every count.
		leaving(on(1, lock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
		leaving(on(1, unlock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
		leaving(on(1, unlock, "fenced", 0), "redisson_lock_token:{N} string 2 => redisson_lock_token:{N} string 1"),
	},
	"fenced fixed": {on(1, lock, "fenced", 100*time.Second), on(1, unlock, "fenced", 0)},
	"fenced forced": {
		on(1, lock, "fenced", 0), on(2, forceUnlock, "fenced", 0), on(2, forceUnlock, "fenced", 0),
		on(2, lock, "fenced", 0), on(2, unlock, "fenced", 0),
	},
	"fair renewed": {
		on(1, lock, "fair", 0), on(1, lock, "fair", 0), on(2, tryLock, "fair", 0),
		on(1, unlock, "fair", 0), on(1, unlock, "fair", 0),
	},
	"fair shorter inside": {
		on(1, lock, "fair", 100*time.Second), leaving(on(1, lock, "fair", 30*time.Second), "(30s) => (1m40s)"),
		leaving(on(1, unlock, "fair", 0), "(30s) => (1m40s)"), on(1, unlock, "fair", 0),
	},
	"fair fixed":  {on(1, lock, "fair", 100*time.Second), on(1, unlock, "fair", 0)},
	"fair forced": {on(1, lock, "fair", 0), on(2, forceUnlock, "fair", 0)},
	"read renewed": {
		on(1, lock, "read", 0), on(1, lock, "read", 0), on(2, lock, "read", 0), on(3, tryLock, "write", 0),
		on(1, unlock, "read", 0), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
	"read fixed": {
		on(1, lock, "read", 100*time.Second), on(2, lock, "read", 0),
		// Redisson lowers the TTL to what the other needs, we never lower it.
		leaving(on(1, unlock, "read", 0), "N hash mode=read O2=1 (30s) => N hash mode=read O2=1 (1m40s)"),
		on(2, unlock, "read", 0),
	},
	"read longer second": {
		on(1, lock, "read", 0), on(2, lock, "read", 100*time.Second), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
	"read shorter inside": {
		on(1, lock, "read", 100*time.Second), on(1, lock, "read", 30*time.Second),
		on(1, unlock, "read", 0), on(1, unlock, "read", 0),
	},
	"read forced": {
		on(1, lock, "read", 0), on(1, lock, "read", 0),
		// Redisson leaves the timeout keys of the readers behind.
		leaving(on(2, forceUnlock, "read", 0), "{N}:O1:rwlock_timeout:1 string 1 (30s)\n{N}:O1:rwlock_timeout:2 string 1 (30s)\n =>"),
	},
	"write renewed": {
		on(1, lock, "write", 0), on(2, tryLock, "write", 0), on(2, tryLock, "read", 0), on(1, unlock, "write", 0),
	},
	"write reentered": {
		on(1, lock, "write", 0),
		// Redisson adds the lease to what is left (its flaw F19), we do not.
		leaving(on(1, lock, "write", 0), "(1m0s) => (30s)"),
		on(1, unlock, "write", 0), on(1, unlock, "write", 0),
	},
	"write shorter inside": {
		on(1, lock, "write", 100*time.Second), leaving(on(1, lock, "write", 30*time.Second), "(2m10s) => (1m40s)"),
		leaving(on(1, unlock, "write", 0), "(30s) => (1m40s)"), on(1, unlock, "write", 0),
	},
	"write fixed":  {on(1, lock, "write", 100*time.Second), on(1, unlock, "write", 0)},
	"write forced": {on(1, lock, "write", 0), on(2, forceUnlock, "write", 0)},
	"read in write": {
		on(1, lock, "write", 0), on(1, lock, "read", 0), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"read in longer write": {
		on(1, lock, "write", 100*time.Second), on(1, lock, "read", 0), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"read longer in write": {
		on(1, lock, "write", 0), on(1, lock, "read", 100*time.Second), on(1, unlock, "read", 0), on(1, unlock, "write", 0),
	},
	"write longer downgraded": {
		on(1, lock, "write", 100*time.Second), on(1, lock, "read", 0),
		// The reader lives for as long as was confirmed to the writer.
		leaving(saying(on(1, unlock, "write", 0), "redisson_rwlock:{N} 1"), "rwlock_timeout:1 string 1 (30s) => rwlock_timeout:1 string 1 (1m40s)"),
		on(1, unlock, "read", 0),
	},
	"write downgraded": {
		on(1, lock, "write", 0), on(1, lock, "read", 0), on(2, tryLock, "read", 0),
		// Redisson tells nobody (its flaw F12), we tell the readers that wait.
		saying(on(1, unlock, "write", 0), "redisson_rwlock:{N} 1"),
		on(2, lock, "read", 0), on(1, unlock, "read", 0), on(2, unlock, "read", 0),
	},
}

func forceUnlock(kind, name string) command { return verb("forceUnlock", kind, name) }

func saying(s step, says string) step {
	s.says = says
	return s
}

func leaving(s step, ours string) step {
	s.ours = ours
	return s
}
