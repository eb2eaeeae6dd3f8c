// Package interop holds the proof that redlatch and Redisson share locks: Java
// processes with the real library and this one contend on one Redis server. So do
// processes with node-redisson, which others wrote in JavaScript.
//
// The tests need a JDK, Maven, Node and npm, so they stand behind the build tag interop, and
// make interop runs them. The other side is a probe, in the folders java and node: a process
// that takes commands as lines of JSON. A redlatch client that takes the same commands, in
// this process or in one that can be killed, is its counterpart, and a test does not
// see which of the two it drives.
package interop
