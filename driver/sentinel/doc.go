// Package sentinel is the driver for a Redis primary that Redis Sentinel watches over. It
// uses the driver of one server, tells that where the primary is, and closes its
// connections when the primary is another server.
//
// # Who is the primary
//
// The driver asks all sentinels at the same time for the primary and for the epoch of their
// configuration. The epoch is a number that grows with every failover. The answer with the
// highest epoch applies, as soon as a majority has answered and that epoch is not older than
// the known one. So one frozen sentinel delays nobody. Among answers with the same epoch,
// one that confirms the known primary applies: sentinels may name one server by a hostname
// and by an address.
//
// An older epoch applies only if a majority of all sentinels has answered and none of them
// knows a newer one. So a minority that was cut off during a failover never leads back. Only
// the first connection is made by any sentinel that answers. A sentinel may take a third of
// the command timeout to answer. If the configured sentinels do not settle the question, the
// driver asks those that they named earlier.
//
// The driver has one connection for questions to each sentinel. It lasts until a question
// fails.
//
// The driver asks before every connection. The server that it connects to must agree: a
// server that calls itself a replica is refused. Open then fails. An open driver repeats the
// attempt, as it does while no sentinel answers. It never connects to a dead primary that
// comes back and does not know yet that it was replaced, because the sentinels name another
// one.
//
// # Failover
//
// A goroutine follows one sentinel after another, each for ten seconds. It subscribes to
// +switch-master there, on a second connection, and also asks once a second. If either names
// another primary, it asks all sentinels. If these agree, the driver drops every connection:
// commands under way end with an unknown outcome, listeners with Listener.Done. Existing
// connections are kept while no sentinel answers.
//
// One risk remains. For about a second after a failover, commands can still reach a former
// primary that lives but was cut off from the sentinels. This takes up to ten seconds if the
// followed sentinel was cut off as well. What the former primary accepts then is lost. A
// client that is connected to it alone cannot notice. Use fencing tokens and confirmations by
// replicas against that.
package sentinel
