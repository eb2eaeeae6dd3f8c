// Package protocol holds the names, fields and payloads that redlatch shares
// with Redisson. It is pure: no I/O and no clock.
//
// Nothing here may change without breaking Java processes that contend for the
// same locks. What is ours alone, and unknown to Redisson, starts with
// "redlatch:".
package protocol
