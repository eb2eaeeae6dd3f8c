// Package sentinel is the driver for a Redis primary that Redis Sentinel watches over. It
// is the driver of one server, driver/rueidis, which is told where that server is, and
// when it is another one.
//
// # Who is the primary
//
// All sentinels are asked at the same time, for the primary and for the epoch of their
// configuration: a number that grows with every failover. What counts is the answer with
// the highest epoch, as soon as a majority has answered and it is not older than what is
// known already. So one sentinel that is frozen delays nobody. Of answers with the same
// epoch, one that confirms the known primary counts: sentinels may call a server by a
// hostname and by an address. An older epoch counts only if a majority of all sentinels has
// answered, and none of them knows a newer one. So a minority that was cut off during a
// failover never leads back; only the first connection is made by whoever answers. Who
// does not answer within a third of the command timeout is not waited for. Where the
// configured sentinels do not settle it, those are asked that they told of earlier.
//
// Each sentinel is asked on one connection, which lasts until a question fails.
//
// They are asked before every connection, and the server that is connected to has to
// agree: one that calls itself a replica is refused. Open then fails; a driver that is open
// repeats the attempt, as it does while no sentinel can say. A dead primary that comes
// back, and does not know yet that it has been replaced, is not connected to, because the
// sentinels name another one.
//
// # When it becomes another one
//
// A goroutine, the watch, turns to one sentinel after another, to each for ten seconds.
// It subscribes there to +switch-master, on a second connection, and besides asks once a
// second. Either is only a hint, after which all are asked. If the primary is another
// one, every connection is dropped: commands under way end with an unknown outcome,
// listeners with Listener.Done. Nothing happens to existing connections while no sentinel
// answers.
//
// What remains: about a second after a failover, or ten if the watch is with a sentinel
// that was cut off as well, commands still reach a former primary that lives but was cut
// off from the sentinels. What it accepts then is lost.
// Nobody who is connected to it alone can tell; fencing tokens and confirmations by
// replicas are the means against that.
package sentinel
