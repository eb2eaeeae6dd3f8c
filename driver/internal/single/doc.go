// Package single is the driver of a single server. Package rueidis exports it, package
// sentinel tells it where the primary is.
//
// rueidis leaves three things open, which this package adds:
//
//   - A caller's wait for a connection ends with the caller's own context.
//   - No caller gets the context error of another one.
//   - A command that certainly never left is told from one whose outcome is unknown.
//
// For these, rueidis must never connect again by itself. A link is one rueidis client
// that may dial exactly once. When its connection breaks, the client answers every call
// at once with an error that says so. The driver closes the link, and one goroutine makes
// the next link while the callers wait for it.
//
// rueidis writes as soon as no further command waits. The driver lets other goroutines run after each
// write, so that their commands share the next one (call.Yielder).
//
// Dedicated pipelines have links of their own: few, used by one call at a time, kept for a
// while. A call that ends before its replies are there closes its link, so that no later
// call gets those replies.
//
// If the address is not fixed (OpenPrimary), connections belong to generations. A caller
// who knows that the address has changed calls Drop. Drop ends the generation: it closes
// all its connections, and no connection that was being made in it is used.
//
// The package doc of rueidis says what a user of the driver sees.
package single
