// Package leader elects one of several processes with a lock. The process that holds the lock leads.
//
// Run promises the following, provided that all clocks run at about the same rate:
//
//   - The context of Started ends before the lease ends in Redis, so before another process can lead.
//   - Run releases the lock only after Started has returned.
//   - In one process, no two calls of Started of one Run overlap.
//   - One call of Stopped follows each call of Started. Run calls Stopped for nothing else.
//
// A process can be paused at any line. So call Hold.Valid right before an effect that must not happen twice,
// and pass Hold.Token with each write of the leader (package fence). The token is the number of the leader's
// term: it grows from leader to leader.
package leader
