// Package script is the only place that runs Lua in Redis. Each operation is one .lua file,
// whose header is its contract, and one typed Go function that builds the call. A second
// function reads the reply.
//
// # Lost replies
//
// Every script is idempotent: it sets the count that must be true afterwards and never adds to
// what it finds. A second run of the same call changes nothing more. So [Runner] resolves a lost
// reply by sending the same call again:
//
//	the command never left      Nothing happened: send it again.
//	the reply never came        It may have happened: send it again, and remember that it
//	                            was sent before (Result.Repeated).
//	LOADING, READONLY, BUSY …   It did not happen: send it again a little later.
//	MISCONF, NOREPLICAS, OOM    The same, if the call ends work (Call.Ending).
//	"non local key"             A slot is migrating, and the call happened in part: send it
//	                            again, and remember that it was sent before.
//	NOSCRIPT                    It did not happen: send it again with its source.
//	any other error reply       It did not happen and never will: an error.
//
// Repeating ends with the caller's context or after the runner's bound. If the last outcome is
// unknown by then, the error is an [UnknownError].
//
// Repeating cannot resolve one case. A request may lie in the socket buffer of a connection that
// the client has already closed. The server may read it only after later requests of a newer
// connection. An acquisition that is carried out in this way belongs to an owner that nobody
// uses any more. Nobody renews it, and it ends after one lease.
package script
