// Package interop holds the proof that redlatch and Redisson share locks: Java
// processes with the real library and this one contend on one Redis server.
//
// The tests need a JDK and Maven, so they stand behind the build tag interop, and
// make interop runs them. The Java side is the probe in the folder java: a process that
// takes commands as lines of JSON. A redlatch client that takes the same commands, in
// this process or in one that can be killed, is its counterpart, and a test does not
// see which of the two it drives.
package interop
