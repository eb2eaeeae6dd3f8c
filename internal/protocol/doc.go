// Package protocol holds the names, fields and payloads that redlatch shares with Redisson. It
// is pure: no I/O and no clock.
//
// A change of a shared name breaks Java processes that contend for the same locks. Names that
// only redlatch uses start with "redlatch:".
package protocol
