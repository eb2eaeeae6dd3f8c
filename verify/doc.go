// Package verify checks afterwards whether locks kept their promises: from the events of all processes that
// used them. A Recorder writes the events, one JSON object a line. A Checker reads the lines of many processes.
//
//	overlap        two owners relied on a lock at one moment, and one of them excludes the other
//	token back     a later holder has a smaller token, or two owners have the same one
//	past deadline  an owner relied on its hold after the hold's deadline
//	late loss      an owner learned that its hold was lost only after the hold's deadline
//
// # When is a lock relied on?
//
// A hold is relied on from the moment at which Lock returns until the moment at which Unlock is called, the
// hold is lost, or its client is closed. Redis has the lock for longer, at both ends. A hold whose end is not in
// the record is relied on until its last event.
//
// # Clocks
//
// Clocks of machines differ, so an overlap that the times show may be none. Tokens tell which of two holds came
// first, whatever the clocks say. So each time a lock with tokens goes from one machine to another, it bounds by how
// much the two clocks differ: the earlier hold ended before the later one began. Two such bounds that
// contradict each other are an overlap, for no difference of the clocks explains both. Where there are bounds, holds
// without tokens are compared by them. A pair that may overlap within the bounds, or has none, is undecided.
//
// Two clocks may drift apart: a bound counts for less at a distance in time, by half a millisecond a second, as fast
// as a clock is set right while it runs. A clock that is set by a jump looks like an overlap. Overlaps of
// less than a millisecond are not seen.
//
// A permit excludes nobody, so only its deadline is checked.
package verify
