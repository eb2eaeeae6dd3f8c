// Package inspect shows the locks in a Redis: who holds each lock, who waits for it, in which order, and
// what is wrong with it.
//
// It finds locks without knowing their names. It walks through the keys in small steps (SCAN, never KEYS),
// and recognises a lock by its shape. Locks of redlatch and of Redisson look alike. It changes nothing.
// Config.Rate limits the commands that it sends in a second.
//
// A Lock is the state in Redis at one moment, and may change in the next. So do not decide by it. The
// scripts of package redlatch do not.
package inspect
