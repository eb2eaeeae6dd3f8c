// Package script is the only place that runs Lua in Redis. Each operation is one
// .lua file, whose header is its contract, and one typed Go function that builds
// the call; a second one reads the reply.
//
// # Lost replies
//
// Every script is idempotent: it sets the count that must be true afterwards and
// never adds to what it finds. A second run of the same call therefore changes
// nothing more, and [Runner] resolves a lost reply by sending the same call again:
//
//	the command never left      nothing happened: send it again
//	the reply never came        it may have happened: send it again, remember that
//	                            it was sent before (Result.Repeated)
//	LOADING, READONLY, BUSY …   it did not happen: send it again a little later
//	"non local key"             a slot is on the move, and it happened in part: send it
//	                            again, remember that it was sent before
//	NOSCRIPT                    it did not happen: send it again with its source
//	any other error reply       it did not happen and never will: an error
//
// Repeating ends with the caller's context or after the runner's bound. If a
// reply is still owed by then, the error is an [UnknownError].
//
// What repeating cannot resolve: a request that lies in the socket buffer of a
// connection that the client has already given up, and that the server reads
// only after later requests of a newer connection. An acquisition that is carried
// out in this way belongs to an owner that nobody uses any more, is never renewed
// and ends after one lease.
package script
