// Package sim runs the whole library in a simulation: clients, wait queues, renewal engines,
// sessions and watchdogs, over simulated drivers and servers, in one bubble of testing/synctest.
// "make sim" runs it for as long as one likes. docs/simulation.md says what it is good for.
//
// A plan (plan.go) follows from a seed: processes with their operations, and faults. A world (world.go) lets a plan happen. The real Lua runs in the embedded server, which is
// called without a network.
//
// # One thing at a time
//
// Go orders neither goroutines nor timers of the same instant. So the order is that of the timeline
// (timeline.go). It lets one event happen, waits until every goroutine is at rest, and goes on.
//
//   - No two events have the same instant.
//   - Everything that a goroutine of the library wants from outside is a posting: a call of the
//     driver, the end of a call's time, a signal to another goroutine. The postings of one instant
//     are sorted by what they say, and taken in one at a time.
//   - Jitter and fresh names are functions of the time in the bubble (package random).
//   - Signals within the library arrive one at a time (package signal).
//   - The library sends what it reads from a map in a sorted order.
//
// So the same seed has the same trace, whose hash a test compares. A process that dies is left out
// of the trace: its goroutines end all at once.
//
// # What is not simulated
//
//   - The drivers of single servers, TCP and RESP. The rules of package driver are simulated: what a
//     driver may do, happens. The driver of a Cluster is the real one, over simulated drivers.
//   - Elections in a Cluster, and watchdogs there.
//   - A process that is paused does not stop. Its renewal loop is held up, nothing arrives or
//     leaves, and no time-out of a call shows. Its other timers go on, and have no effect outside.
//   - Wall clocks of processes that jump. Those of servers do.
//   - Several voters for one Quorum in one process. Their order is the scheduler's.
package sim
