// Package supervise runs a command for as long as a hold lasts, and no longer. If the hold is
// lost, or Redis does not confirm it in time, the package stops the process tree: the command and
// all its descendants. The tree is gone before another can have the lock.
// docs/decisions/0015-the-switch.md has the reasons.
//
// # Two processes
//
//	holder   Run, in the process that has the hold. It tells the switch each new deadline.
//	switch   a second process of the same program, whose code begins in an init function. It is
//	         the parent of the command, and adopts its orphans. It stops the tree in time, also
//	         if the holder is dead, paused or cut off from Redis.
//
// A pipe leads in each direction. If one process dies, its pipe closes, and the other process stops
// the tree. If the switch does not stop the tree in time, the holder kills the switch and the tree.
// The holder adopts the orphans of the switch (Linux).
//
// Something may go on without the lock in two cases: both processes are killed or paused before the
// tree is stopped, or the whole machine was paused.
//
// # When
//
// A hold has a deadline, which lies before the expiry in Redis. Each renewal moves the deadline.
// The times before it are these:
//
//	                    SIGTERM            SIGKILL     the holder
//	start ------ … -------+------------------+-----------+---------+--- expiry in Redis
//	                      |<-- kill-after -->|<------ margin ----->deadline
//
// The switch scans the tree now and then, and takes a handle of each process. So the first signals need no
// walk through /proc. The margin has twelve times the time of the last walk in it, as far as renewals keep theirs. If the
// lease leaves no time for that, the holder extends it (Extender).
//
// A renewal before SIGTERM moves all these times, and the command notices nothing. If the hold is
// lost already, for example by a forced unlock, the switch sends SIGTERM at once. It sends SIGKILL
// at most two seconds later.
//
// A watchdog may renew a protected hold while the holder is paused. The switch then sends SIGSTOP
// instead of SIGKILL. It sends SIGCONT when the holder tells it a new deadline. A stopped tree is killed
// children first: if a parent dies before, the kernel continues its orphans.
//
// # Who
//
// The switch and the command have a process group each. The switch passes the signals that the
// holder gets on to the command's group. The kernel sends Ctrl-C to the group that has the terminal:
// the command's or the holder's. In either case the command gets Ctrl-C once.
//
//	the command ended        the rest of its group is stopped, so that it does not work without
//	                         the lock
//	the hold ended           the whole process tree is stopped, also processes in other sessions
//
// To find the whole tree, both processes are subreapers (Linux). Orphans become their children, and
// they find their descendants in /proc. The tree is gone when the process has no child any more. On
// other systems the package knows only the group.
//
// # States of the switch
//
//	running ── the command ends ─────▶  stopping what is left of its group ── gone ──▶  over
//	 │  ▲ │                                │
//	 │  │ └── the hold is lost, or its time is near: stopping the whole tree ── gone ──▶  over
//	 ▼  │                                  │
//	asleep (Ctrl-Z), frozen (protected) ───┘
//
// One goroutine does this, on the main thread. If the thread that started the command ended, the
// kernel would take that for the death of the parent, and kill the command.
package supervise
