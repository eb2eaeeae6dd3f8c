// Package sentinel is the driver for a Redis primary that Redis Sentinel watches over. It
// is the driver of one server, driver/rueidis, which is told where that server is, and
// when it is another one.
//
// # Who is the primary
//
// All sentinels are asked at the same time, for the primary and for the epoch of their
// configuration: a number that grows with every failover. What counts is the answer with
// the highest epoch, as soon as a majority has answered and it is not older than what is
// known already. So one sentinel that is frozen delays nobody, and one that was cut off
// during a failover misleads nobody as long as others answer. Who does not answer within
// a third of the command timeout is not waited for. Where none of the configured
// sentinels answers, those are asked that they told of earlier.
//
// That is asked before every connection, and the server that is connected to has to
// agree: one that calls itself a replica is refused, and the attempt repeated, as it is
// while no sentinel can say. A dead primary that comes back, and does not know yet that
// it has been replaced, is not connected to, because the sentinels name another one.
//
// # When it becomes another one
//
// A goroutine, the watch, holds on to one sentinel, each in turn for ten seconds. It hears
// its +switch-master and besides asks it once a second; either is only a hint, after which
// all are asked. If the primary is another one, every connection is dropped: commands under way end with an
// unknown outcome, listeners with Listener.Done. Nothing at all happens to existing
// connections while no sentinel answers.
//
// What remains: about a second after a failover, or ten if the watch is with a sentinel
// that was cut off as well, commands still reach a former primary that lives but was cut
// off from the sentinels. What it accepts then is lost.
// Nobody who is connected to it alone can tell; fencing tokens and confirmations by
// replicas are the means against that.
package sentinel
