// Package fence guards the data that a lock protects, at the place where it is stored. A write
// passes only with a token that is not older than the last one that passed.
//
// A holder that was paused for longer than its lease cannot know that another owner has the lock
// now. Its next write comes late. No lock can stop that write, but the store can. A fencing
// token is a number that the lock issues with each hold, and that only grows. The late write
// carries a smaller token and is refused:
//
//	the row of a table       Table.Row(key).Update   exact
//	a transaction            Ledger.PassIn           exact
//	a key in Redis           Redis.Do, Redis.Set     exact
//	an object in S3          S3.Put                  exact
//	requests of HTTP         Handler                 exact within one process
//	no lock, just a version  Table.Row(key).UpdateIf exact
//
// The databases are PostgreSQL, SQLite, MySQL and MariaDB. S3 means any store with the conditional writes
// of S3. Exact means that the check and the effect are atomic.
//
// Every guard follows the same three rules. A token older than the last one is refused with
// ErrStale, and nothing is written. The same token passes again, because one holder writes more
// than once. A token that is not positive is refused with ErrNoToken: the hold was taken without
// fencing.
//
// All tokens of one resource must come from one lock. Tokens of different locks cannot be
// compared. A failover of Redis can set the token counter back: see redlatch.Config.TokenClock.
package fence
