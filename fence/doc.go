// Package fence guards what a lock protects, in the place where it lives: a write
// passes only with a token that is not older than the last one that passed.
//
// A holder that was paused for longer than its lease cannot know that its lock went
// to somebody else. Its next write comes late, and no lock can stop it; what is
// written to can. A fencing token is a number that the lock gives with each hold and
// that only grows, so the late write carries a smaller one and is refused:
//
//	the row of a table       Table.Row(key).Update   exact
//	a transaction            Ledger.PassIn           exact
//	a key in Redis           Redis.Do, Redis.Set     exact
//	requests of HTTP         Handler                 exact within one process
//	no lock, just a version  Table.Row(key).UpdateIf exact
//
// Exact means that the check and the effect are one: nothing comes between them.
//
// Every guard has the same three answers. A token older than the last is ErrStale, and
// nothing was written. The same token passes again, because one holder writes more than
// once. A token that is not positive is ErrNoToken: the hold was taken without one.
//
// The tokens of one resource come from one lock. Those of two locks say nothing about
// each other. A failover of Redis can set the token counter back: see
// redlatch.Config.TokenClock.
package fence
