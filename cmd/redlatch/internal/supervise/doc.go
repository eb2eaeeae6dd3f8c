// Package supervise runs a command for as long as a hold lasts, and no longer. When the
// hold is lost, or cannot be proven in time, the command and everything that it started
// is gone before anybody else can have the lock.
//
// # When
//
// A hold has a deadline, which lies before the expiry in Redis and moves on with each
// renewal. Everything counts back from there:
//
//	                    SIGTERM            SIGKILL
//	start ------ … -------+------------------+----------+------------ expiry in Redis
//	                      |<-- kill-after -->|<-margin->deadline
//
// A renewal that comes before SIGTERM moves all of it on, and the command never knows. If
// the hold is lost already, because somebody forced it, SIGTERM comes at once and SIGKILL
// two seconds later at the most.
//
// # Who
//
// The command has a process group of its own. This process passes the signals that reach it
// on to that group. If the command has the terminal, the kernel sends it Ctrl-C, and this
// process does not. In either case Ctrl-C comes once.
//
//	the command ended        what is left of its group is stopped, as it would go on
//	                         working without the lock
//	the hold ended           its whole process tree is stopped, also what moved to a
//	                         session of its own
//
// To find the latter this process becomes their reaper (Linux): orphans become its
// children, and it looks for its descendants in /proc. Elsewhere only the group is known.
//
// If this process is killed, the kernel sends the command a SIGTERM (Linux).
//
// # States
//
//	running   ── the command ends ─────▶  stopping what is left of its group ── gone ──▶  over
//	   │                                     │
//	   └── the hold is lost, or its time is near: stopping the whole tree ── gone ──▶  over
//
// One goroutine does all of it, on one thread: the kernel takes the end of the thread
// that started the command for the end of its parent.
package supervise
