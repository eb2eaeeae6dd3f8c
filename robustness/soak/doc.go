// Package soak runs every kind of lock for a long time, with ever new names and with faults. It measures
// what must not grow: memory, goroutines, connections, keys, and commands. "make soak" runs it for an
// hour. The tests include a short run.
//
// A quantity has grown if its median in the last fifth of the run exceeds that in the second fifth by
// more than noise. The first fifth does not count, because pools and caches fill in it.
package soak
